"""The one place for a verdict's precedence (PROTOCOL.md section 10), and the exit code of each verdict."""

from __future__ import annotations

EXIT_CODES = {"valid": 0, "invalid": 1, "incomplete": 3, "unreadable": 4}


def judge(
    *, is_test: bool, allow_test: bool, failed: bool, unreadable: bool, incomplete: bool, holds: str = "valid"
) -> tuple[str, int]:
    """Returns the verdict and the exit code: test record first, then failures, then unreadable, then incomplete.

    Args:
        is_test: something in what was read says that it is a test double's.
        allow_test: judge a test record as any other.
        failed: a check failed.
        unreadable: something cannot be read, or is of an unknown schema.
        incomplete: something is missing that a full verdict needs.
        holds: the verdict where nothing is wrong.

    >>> judge(is_test=False, allow_test=False, failed=True, unreadable=True, incomplete=True)
    ('invalid', 1)
    """
    if is_test and not allow_test:
        return "test-record", EXIT_CODES["unreadable"]
    for applies, verdict in ((failed, "invalid"), (unreadable, "unreadable"), (incomplete, "incomplete")):
        if applies:
            return verdict, EXIT_CODES[verdict]
    return ("test-record" if is_test else holds), EXIT_CODES["valid"]
