"""The check `append-only` for one earlier state, word for word: from a reader, a receipt or a witness."""

from __future__ import annotations

from dataclasses import replace

from audit.findings import Finding
from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.earlier import Earlier, check_append_only, origin_of_earlier, read
from audit.tlog.merkle import leaf_hash
from audit.tlog.note import decode
from tests.attacks.maker import Signer, root

SIGNER = Signer()
RAWS = [b"one", b"two", b"three", b"four"]


def found(earlier: Earlier, raws: list[bytes], leaf: bytes | None = None) -> list[Finding]:
    """Holds an earlier state against the log that has these entries now."""
    data = SIGNER.checkpoint(raws)
    then = earlier.checkpoint.size
    known = root(raws[:then]) if then <= len(raws) else None
    return list(check_append_only(earlier, read_checkpoint(decode(data)), data, known, leaf))


def test_a_log_behind_what_a_witness_has_cosigned() -> None:
    signed = SIGNER.checkpoint(RAWS)
    earlier = replace(read("w1", signed, SIGNER.verifier), cosigned="2027-01-15T08:00:00Z")
    words = (
        "the log shows 1 entry; w1 cosigned 4 at 2027-01-15T08:00:00Z: it was rolled back, forked, or has not "
        "published in 60 seconds"
    )
    both = (signed.decode(), SIGNER.checkpoint(RAWS[:1]).decode())
    assert found(earlier, RAWS[:1]) == [Finding("append-only", None, None, words, whole=both)]
    assert found(earlier, RAWS) == []


def test_a_log_behind_a_receipt_is_a_fork_where_the_entry_is_another_one() -> None:
    earlier = read("r", SIGNER.receipt(RAWS, 1), SIGNER.verifier)
    behind = "the log shows 2 entries, r 4"
    late = Finding("append-only", None, None, f"{behind}: rolled back, or not yet published")
    assert found(earlier, RAWS[:2], leaf_hash(b"two")) == [late]
    assert found(earlier, RAWS[:2]) == [late]
    (fork,) = found(earlier, [b"one", b"other"], leaf_hash(b"other"))
    assert (fork.index, fork.hand) == (1, None)
    assert fork.detail == f"{behind}, and entry 1 is not the receipt's: a fork, both notes stand below"
    assert fork.whole == (SIGNER.checkpoint(RAWS).decode(), SIGNER.checkpoint([b"one", b"other"]).decode())


def test_a_receipt_has_to_lead_from_its_entry() -> None:
    earlier = read("r", SIGNER.receipt(RAWS, 1), SIGNER.verifier)
    assert found(earlier, RAWS, leaf_hash(b"two")) == []
    (wrong,) = found(earlier, RAWS, leaf_hash(b"three"))
    assert wrong == Finding(
        "append-only", 1, None, "r: the receipt's proof does not lead from this log's entry to the receipt's root"
    )
    (outside,) = found(replace(earlier, index=4), RAWS)
    assert outside == Finding("append-only", 4, None, "r: index 4 in a tree of 4 entries")


def test_whose_log_a_file_is_of() -> None:
    assert origin_of_earlier(SIGNER.receipt(RAWS, 1)) == SIGNER.origin
    assert origin_of_earlier(SIGNER.checkpoint(RAWS)) == SIGNER.origin
    assert origin_of_earlier(b"neither") is None
