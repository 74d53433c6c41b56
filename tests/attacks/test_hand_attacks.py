"""One dishonest hand in an honest log fails for exactly its reason: `seed`, `entropy`, `deck`, `opening`, `reveal`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from audit import protocol
from audit.tlog.keys import base64_decode, base64_encode
from tests.attacks.judging import assert_fails, audit, find
from tests.attacks.maker import Book, Draft, Entry, EscrowPair, contributors, drawn, honest, uuid7

OTHER = EscrowPair(drawn("another escrow key", 32))


def test_the_honest_log_is_valid(tmp_path: Path) -> None:
    report = audit(honest(), tmp_path)
    assert (report.verdict, report.exit_code, report.findings, report.missing) == ("valid", 0, (), ())
    assert all(check.made for check in report.checks if check.name not in ("append-only", "witness"))


def close_of(label: str) -> Callable[[Book], Entry]:
    return lambda book: find(book, "/close", uuid7(label))


def commit_of(label: str) -> Callable[[Book], Entry]:
    return lambda book: find(book, "/commit", uuid7(label))


def flip_hex(entry: Entry, member: str) -> None:
    entry[member] = f"{int(entry[member][0], 16) ^ 1:x}{entry[member][1:]}"


def _wrong_seed(book: Book) -> None:
    flip_hex(close_of("board")(book), "seed")


def _wrong_seed_commitment(book: Book) -> None:
    flip_hex(commit_of("board")(book), "seed_commitment")


def _escrow_that_does_not_open(book: Book) -> None:
    entry, close = commit_of("sealed")(book), close_of("sealed")(book)
    broken = bytearray(base64_decode(close["escrow"]))
    broken[60] ^= 1
    close["escrow"] = base64_encode(bytes(broken))
    digest = protocol.escrow_digest(bytes.fromhex(entry["hand"].replace("-", "")), bytes(broken))
    entry["escrow"]["digest"] = digest.hex()


def _escrow_of_another_digest(book: Book) -> None:
    flip_hex(commit_of("sealed")(book)["escrow"], "digest")


def _wrong_value(book: Book) -> None:
    # Worked out again: the digest and the deck follow the false value, the offer's commitment does not.
    swap_hand(book, Draft("offered", number=3, values={**offered_values(), "seat-1": drawn("false", 32)}))


def offered_values() -> dict[str, bytes]:
    return contributors("offered", "seat-1", "seat-2", "seat-9")


def swap_hand(book: Book, draft: Draft) -> None:
    """Puts the commit and close of `draft` in place of the hand's own, and leaves its offer."""
    draft.silent = draft.silent or {"seat-2"}
    draft.deal("fourth", folds={"fourth": [1, 3]})
    commit, close = commit_of("offered")(book), close_of("offered")(book)
    commit.update(draft.commit(commit["offer"]))
    close.update(draft.close(close["commit"]))


def _wrong_digest(book: Book) -> None:
    flip_hex(commit_of("board")(book), "entropy_digest")


def _digest_that_the_deck_follows(book: Book) -> None:
    draft = Draft("void", number=4, outcome="void", digest=drawn("digest", 32)).deal("third")
    commit_of("void")(book).update(draft.commit())
    close_of("void")(book).update(draft.close(close_of("void")(book)["commit"]))


def _contributions_in_the_dealers_order(book: Book) -> None:
    values = offered_values()
    swap_hand(book, Draft("offered", number=3, values={name: values[name] for name in reversed(values)}))


def _contributor_left_out(book: Book) -> None:
    values = offered_values()
    del values["seat-9"]
    swap_hand(book, Draft("offered", number=3, values=values))


def _contributor_made_up(book: Book) -> None:
    swap_hand(book, Draft("offered", number=3, values={**offered_values(), "house": drawn("house", 32)}))


def _contributor_both_taken_and_withheld(book: Book) -> None:
    commit_of("offered")(book)["withheld"] = ["seat-1", "seat-2"]


def _withheld_in_another_order(book: Book) -> None:
    draft = Draft("offered", number=3, values=offered_values(), silent={"seat-1", "seat-2"})
    swap_hand(book, draft)
    commit_of("offered")(book)["withheld"] = ["seat-2", "seat-1"]


def _contributions_without_an_offer(book: Book) -> None:
    values = contributors("uninvited", "seat-1")
    draft = Draft("void", number=4, outcome="void", values=values).deal("third")
    commit_of("void")(book).update(draft.commit())
    close_of("void")(book).update(draft.close(close_of("void")(book)["commit"]))


def _wrong_deck_commitment(book: Book) -> None:
    flip_hex(commit_of("board")(book), "deck_commitment")


def _deck_of_the_dealers_choice(book: Book) -> None:
    draft = Draft("void", number=4, outcome="void", cards=list(protocol.DECKS["standard52"])).deal("third")
    commit_of("void")(book).update(draft.commit())


def _card_opened_as_another(book: Book) -> None:
    openings = close_of("sealed")(book)["openings"]
    openings[0][1] = "2c" if openings[0][1] != "2c" else "3c"


def _salt_changed(book: Book) -> None:
    row = close_of("sealed")(book)["openings"][1]
    row[2] = f"{int(row[2][0], 16) ^ 1:x}{row[2][1:]}"


def _commitment_of_an_unseen_card_changed(book: Book) -> None:
    close = close_of("sealed")(book)
    listed = bytearray(base64_decode(close["card_commitments"]))
    listed[-1] ^= 1
    close["card_commitments"] = base64_encode(bytes(listed))


def _commitments_one_short(book: Book) -> None:
    close = close_of("sealed")(book)
    close["card_commitments"] = base64_encode(base64_decode(close["card_commitments"])[:-32])


def _openings_out_of_order(book: Book) -> None:
    openings = close_of("sealed")(book)["openings"]
    openings[0], openings[1] = openings[1], openings[0]


def _opening_of_no_card(book: Book) -> None:
    close_of("sealed")(book)["openings"][0][1] = "Xx"


def _opening_missing(book: Book) -> None:
    del close_of("sealed")(book)["openings"][0]


def _opening_too_many(book: Book) -> None:
    draft = Draft("sealed", number=2, game="seven-card-stud-hi-lo", reveal="sealed", seats=[2, 5, 8, 9])
    close = close_of("sealed")(book)
    hidden = 1  # the folded seat's first down card
    row = [hidden, draft.dealt[hidden], draft.salts[32 * hidden : 32 * hidden + 32].hex()]
    close["openings"] = sorted([*close["openings"], row])


def _seed_withheld(book: Book) -> None:
    del close_of("board")(book)["seed"]


def _seed_of_a_sealed_hand_given_away(book: Book) -> None:
    close_of("sealed")(book)["seed"] = Draft("sealed").seed.hex()


def _escrow_withheld(book: Book) -> None:
    del close_of("sealed")(book)["escrow"]


def _openings_withheld(book: Book) -> None:
    del close_of("sealed")(book)["openings"]


def _openings_of_a_public_hand(book: Book) -> None:
    close_of("board")(book)["openings"] = []


ATTACKS: dict[Callable[[Book], None], tuple[str, ...]] = {
    _wrong_seed: ("seed",),
    _wrong_seed_commitment: ("seed",),
    _escrow_that_does_not_open: ("seed",),
    _escrow_of_another_digest: ("seed",),
    _wrong_value: ("entropy",),
    _wrong_digest: ("entropy",),
    _digest_that_the_deck_follows: ("entropy",),
    _contributions_in_the_dealers_order: ("entropy",),
    _contributor_left_out: ("entropy",),
    _contributor_made_up: ("entropy",),
    _contributor_both_taken_and_withheld: ("entropy",),
    _withheld_in_another_order: ("entropy",),
    _contributions_without_an_offer: ("entropy",),
    _wrong_deck_commitment: ("deck",),
    _deck_of_the_dealers_choice: ("deck",),
    _card_opened_as_another: ("opening",),
    _salt_changed: ("opening",),
    _commitment_of_an_unseen_card_changed: ("opening",),
    _commitments_one_short: ("opening",),
    _openings_out_of_order: ("opening",),
    _opening_of_no_card: ("opening",),
    _opening_missing: ("reveal",),
    _opening_too_many: ("reveal",),
    _seed_withheld: ("reveal",),
    _seed_of_a_sealed_hand_given_away: ("reveal",),
    _escrow_withheld: ("reveal",),
    _openings_withheld: ("reveal",),
    _openings_of_a_public_hand: ("reveal",),
}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_attack_fails_for_exactly_its_reason(attack: Callable[[Book], None], tmp_path: Path) -> None:
    book = honest()
    attack(book)
    assert_fails(audit(book, tmp_path), *ATTACKS[attack])


def test_escrow_for_a_key_that_nobody_named(tmp_path: Path) -> None:
    draft = Draft("x", table="x", reveal="sealed", escrow_public=OTHER.public).deal(folds={"third": [1, 2]})
    assert_fails(audit(honest().play(draft), tmp_path), "reveal")


def test_finding_names_hand_entry_and_both_values(tmp_path: Path) -> None:
    book = honest()
    _card_opened_as_another(book)
    (found,) = audit(book, tmp_path).findings
    assert found.index == book.entries.index(close_of("sealed")(book))
    assert found.hand == uuid7("sealed")
    assert "position 0: expected card commitment" in found.detail
