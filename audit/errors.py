"""The auditor's errors: one base class, whose message says what was wrong, where, and what to do."""

from __future__ import annotations


class AuditError(Exception):
    """Base of everything that the auditor raises on purpose; its text is meant for the person at the terminal."""


class FormatError(AuditError):
    """Bytes that are not what the format asks: a note, a key, a proof, an entry, a bundle."""


class InputError(AuditError):
    """Input that cannot be read at all (exit code 4): a file, a log that does not answer, a foreign checkpoint."""


class CheckError(AuditError):
    """Something that was read and is wrong (exit code 1): a signature, a proof, a hash."""
