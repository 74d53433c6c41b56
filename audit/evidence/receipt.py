"""Checking one piece of evidence offline: a receipt against its entry or a log, or an acknowledgement."""

from __future__ import annotations

from dataclasses import dataclass, field

from audit.errors import AuditError, CheckError, FormatError, InputError
from audit.logs.log import Log
from audit.plural import counted
from audit.record.acknowledgement import Acknowledgement, read_acknowledgement
from audit.record.entries import Close, Unknown
from audit.record.fields import SchemaError, hand_text
from audit.record.reading import parse
from audit.tlog import note, receipt
from audit.tlog.checkpoint import check_origin, is_test_name, read_checkpoint
from audit.tlog.keys import VerifierKey
from audit.tlog.merkle import leaf_hash
from audit.tlog.proofs import check_inclusion
from audit.tlog.tiles import WIDTH
from audit.tlog.witnessed import Demand, Witnessed, check_witnessed
from audit.verdict import judge


@dataclass(slots=True)
class Step:
    """One thing that was checked (`ok`), failed (`fail`), or could not be checked.

    The last is `missing` where a full verdict needs it, `unmade` where it does not, `unknown` where it cannot be read.
    """

    name: str
    state: str
    detail: str


@dataclass(slots=True)
class Evidence:
    """The result of checking a piece of evidence.

    Attributes:
        kind: what it is, such as `receipt`.
        facts: what it says, name by name, in the order in which to print them.
        steps: what was checked.
        is_test: it is a test double's.
        proven: something in it is under a signature of the pinned key; where nothing is, there is no verdict. (A
            receipt or acknowledgement is all signature: one that is missing is what is wrong with it.)
    """

    kind: str
    facts: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    is_test: bool = False
    proven: bool = True

    def judge(self, allow_test: bool) -> tuple[str, int]:
        """Returns the verdict and the exit code, by the rules of PROTOCOL.md section 10."""
        states = {step.state for step in self.steps}
        return judge(
            is_test=self.is_test,
            allow_test=allow_test,
            failed=self.proven and "fail" in states,
            unreadable=self.proven and "unknown" in states,
            incomplete=not self.proven or "missing" in states or not states,
        )

    def add(self, name: str, error: AuditError | None, ok: str) -> None:
        """Notes a step that failed with `error`, or holds."""
        self.steps.append(Step(name, "ok", ok) if error is None else Step(name, "fail", str(error)))


def check_evidence(
    data: bytes,
    key: VerifierKey | None,
    *,
    entry: bytes | None = None,
    log: Log | None = None,
    witnesses: Demand | None = None,
) -> Evidence:
    """Checks a file that somebody kept.

    Args:
        data: the file.
        key: the verifier key that is pinned.
        entry: the exact bytes of the receipt's entry.
        log: where to look for the entry instead.
        witnesses: what a receipt's cosignatures must show, None for nothing. The policy's logs stand in for a key.

    Raises:
        InputError: it is neither a receipt nor an acknowledgement, or the log cannot be read.
    """
    try:
        if receipt.is_receipt(data):
            given = receipt.decode(data)
            evidence = _check_receipt(given, _pinned(key, witnesses, given.note), entry, log)
            if witnesses is not None and witnesses.asks:
                evidence.steps.append(_witness_step(check_witnessed(given.note, witnesses)))
            return evidence
        signed = note.decode(data)
        return _check_acknowledgement(signed, read_acknowledgement(signed), _pinned(key, witnesses, signed))
    except FormatError as error:
        raise InputError(f"neither a receipt nor an acknowledgement: {error}") from None


def _pinned(key: VerifierKey | None, witnesses: Demand | None, signed: note.Note) -> VerifierKey | None:
    return witnesses.policy.log_key(signed) if key is None and witnesses is not None else key


def _witness_step(witnessed: Witnessed) -> Step:
    if witnessed.findings:
        return Step("witness", "fail", "; ".join(found.detail for found in witnessed.findings))
    if witnessed.missing is not None:
        return Step("witness", "missing", witnessed.missing)
    return Step("witness", "ok", str(witnessed))


def _check_signature(evidence: Evidence, signed: note.Note, key: VerifierKey | None) -> None:
    if key is None:
        evidence.steps.append(Step("signature", "missing", "no verifier key was given (--key)"))
        return
    try:
        note.check_signed(signed, key)
    except CheckError as error:
        evidence.add("signature", error, "")
    else:
        evidence.add("signature", None, f"by {key.name}")


def _check_acknowledgement(signed: note.Note, said: Acknowledgement, key: VerifierKey | None) -> Evidence:
    evidence = Evidence("acknowledgement", is_test=is_test_name(key, None))
    evidence.facts = {"hand": said.hand, "contributor": said.contributor, "value": said.value.hex()}
    _check_signature(evidence, signed, key)
    return evidence


def _check_receipt(receipt: receipt.Receipt, key: VerifierKey | None, entry: bytes | None, log: Log | None) -> Evidence:
    then = receipt.checkpoint
    evidence = Evidence("receipt", is_test=is_test_name(key, then))
    evidence.facts = {
        "origin": then.origin,
        "index": str(receipt.index),
        "tree": f"{counted(then.size, 'entry', 'entries')}, root {then.root.hex()}",
    }
    _check_signature(evidence, receipt.note, key)
    wrong = check_origin(then.origin, key)
    if wrong or key is not None:
        evidence.add("origin", CheckError("; ".join(wrong)) if wrong else None, then.origin)
    if entry is None and log is not None:
        entry = _entry_from(log, receipt.index, then.size)
    if entry is None:
        where = "is not in the log" if log is not None else "was not given (--entry FILE or --log LOG)"
        evidence.steps.append(Step("inclusion", "missing", f"the entry {where}"))
        return evidence
    try:
        check_inclusion(receipt.index, then.size, leaf_hash(entry), receipt.proof, then.root)
    except CheckError as error:
        evidence.add("inclusion", error, "")
    else:
        evidence.add("inclusion", None, f"the entry is number {receipt.index} of the tree")
    _describe_entry(evidence, entry)
    return evidence


def _describe_entry(evidence: Evidence, raw: bytes) -> None:
    try:
        entry = parse(raw)
    except SchemaError as error:
        evidence.is_test = evidence.is_test or error.test
        evidence.add("schema", error, "")
        return
    evidence.is_test = evidence.is_test or entry.test
    if isinstance(entry, Unknown):
        evidence.steps.append(Step("schema", "unknown", f"schema {entry.schema[:80]!a} is not known"))
        return
    evidence.add("schema", None, f"a well-formed {type(entry).__name__.lower()}")
    evidence.facts["entry"] = f"{type(entry).__name__.lower()} of hand {hand_text(entry.hand)}"
    if not isinstance(entry, Close):
        evidence.facts["table"] = f"{entry.table}, number {entry.number}"


def _entry_from(log: Log, index: int, size: int) -> bytes | None:
    """Returns the entry at `index`, from a log that has at least `size` entries (its own checkpoint says how many)."""
    data = log.checkpoint()
    if data is None:
        raise InputError(f"{log.address} has no checkpoint")
    try:
        now = read_checkpoint(note.decode(data)).size
        number = index // WIDTH
        entries = log.entries(number, min(WIDTH, now - number * WIDTH)) if size <= now and index < now else None
    except FormatError as error:
        raise InputError(f"{log.address}: {error}") from None
    return None if entries is None else entries[index % WIDTH]
