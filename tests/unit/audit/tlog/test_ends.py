"""What a log says of the one after or before it: read, held against its own tree, and never taken from a stranger."""

from __future__ import annotations

import pytest

from audit.tlog.checkpoint import read_checkpoint
from audit.tlog.ends import PREDECESSOR, SUCCESSOR, check_end, contradiction
from audit.tlog.note import decode
from tests.attacks.maker import Signer, base64_encode, root

OLD, NEW = Signer("old.example", b"o" * 32), Signer("new.example", b"n" * 32)
OLD_RAWS, NEW_RAWS = [b"one", b"two", b"three"], [b"first"]
ENDED = read_checkpoint(decode(OLD.checkpoint(OLD_RAWS)))
BEGUN = read_checkpoint(decode(NEW.checkpoint(NEW_RAWS)))
ROOT = base64_encode(root(OLD_RAWS))
AFTER = f"cutcard/v1/successor\nold.example\n3\n{ROOT}\n{NEW.verifier}\n"
STRANGE, ITSELF = "of the log 'other.example', signed by the key of", "cannot follow itself: the origin is the same"
BEFORE = f"cutcard/v1/predecessor\nnew.example\n{OLD.verifier}\n3\n{ROOT}\n"


def test_both_say_the_other_log_and_where_the_older_one_ended() -> None:
    after, wrong, unread = check_end(SUCCESSOR, OLD.note(AFTER), OLD.verifier, ENDED)
    assert (wrong, unread) == ([], None)
    assert after is not None
    assert (after.kind, after.other, after.final) == (SUCCESSOR, NEW.verifier, ENDED)
    assert str(after) == f"{NEW.verifier} after 3 entries, root {root(OLD_RAWS).hex()}"
    before, wrong, unread = check_end(PREDECESSOR, NEW.note(BEFORE), NEW.verifier, BEGUN)
    assert (wrong, unread) == ([], None)
    assert before is not None
    assert (before.kind, before.other, before.final) == (PREDECESSOR, OLD.verifier, ENDED)
    assert str(before) == f"{OLD.verifier}, which ended with 3 entries, root {root(OLD_RAWS).hex()}"


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (
            SUCCESSOR,
            AFTER.replace("old.example\n", "other.example\n"),
            STRANGE,
        ),
        (
            PREDECESSOR,
            BEFORE.replace("new.example\n", "other.example\n"),
            STRANGE,
        ),
        (
            SUCCESSOR,
            AFTER.replace(str(NEW.verifier), str(OLD.verifier)),
            ITSELF,
        ),
        (PREDECESSOR, BEFORE.replace(str(OLD.verifier), str(NEW.verifier)), ITSELF),
        (SUCCESSOR, AFTER.replace(str(NEW.verifier), "new.example"), "not a verifier key"),
        (SUCCESSOR, AFTER.replace("\n3\n", "\n03\n"), "size"),
        (PREDECESSOR, BEFORE.replace(ROOT, ROOT[:-4]), "root"),
    ],
)
def test_what_the_log_has_signed_and_cannot_be_so_is_a_finding(kind: str, text: str, words: str) -> None:
    signer, own = (OLD, ENDED) if kind == SUCCESSOR else (NEW, BEGUN)
    end, wrong, unread = check_end(kind, signer.note(text), signer.verifier, own)
    assert (end, unread) == (None, None)
    assert [(each.check, each.index, each.hand) for each in wrong] == [("checkpoint", None, None)]
    assert wrong[0].detail.startswith(f"{kind}: ")
    assert words in wrong[0].detail


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"<html>not found</html>\n", "note"),
        (OLD.note(BEFORE), "not the text of a successor"),
        (OLD.note(AFTER + "more\n"), "not the text of a successor"),
        (OLD.note("\n".join(AFTER.split("\n")[:4]) + "\n"), "not the text of a successor"),
    ],
)
def test_what_no_log_has_signed_proves_nothing(data: bytes, words: str) -> None:
    end, wrong, unread = check_end(SUCCESSOR, data, OLD.verifier, ENDED)
    assert (end, wrong) == (None, [])
    assert unread is not None
    assert unread.startswith("successor cannot be read: ")
    assert words in unread


def test_one_that_another_key_has_signed_is_a_finding() -> None:
    end, wrong, unread = check_end(SUCCESSOR, NEW.note(AFTER), OLD.verifier, ENDED)
    assert (end, unread) == (None, None)
    assert [each.detail for each in wrong] == [
        f"successor: no signature by old.example with key id {OLD.verifier.key_id.hex()}"
    ]


def test_a_log_that_went_on_or_ended_otherwise_is_a_finding() -> None:
    for raws in ([*OLD_RAWS, b"four"], [b"one", b"two", b"other"]):
        now = read_checkpoint(decode(OLD.checkpoint(raws)))
        end, wrong, unread = check_end(SUCCESSOR, OLD.note(AFTER), OLD.verifier, now)
        assert end is not None
        assert unread is None
        said = f"3 entries with root {root(OLD_RAWS).hex()}, and has {len(raws)} entries with root {root(raws).hex()}"
        assert [(each.check, each.index, each.hand, each.detail) for each in wrong] == [
            ("checkpoint", None, None, f"successor: the log ended with {said}")
        ]
        before, *_ = check_end(PREDECESSOR, NEW.note(BEFORE), NEW.verifier, BEGUN)
        assert before is not None
        assert contradiction(before, ENDED) is None
        found = contradiction(before, now)
        assert found is not None
        assert (found.check, found.index, found.hand) == ("checkpoint", None, None)
        assert found.detail == f"predecessor: old.example is said to have ended with {said}"
