"""`audit explain`: one hand with the input of every hash, for a person who follows it with other tools.

Nothing of a sealed hand that its close does not open is given unless the caller asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from audit import protocol
from audit.explain.find import FoundHand, find_hand
from audit.findings import Finding
from audit.hand.checks import Case, HandResult, check_hand, check_offered
from audit.hand.escrow import EscrowKeys
from audit.hand.words import words_used
from audit.logs.log import Log
from audit.record.entries import Close, Commit, Offer
from audit.record.fields import hand_text
from audit.tlog.earlier import read as read_earlier
from audit.tlog.keys import VerifierKey
from audit.tlog.merkle import leaf_hash
from audit.verdict import judge


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a hash's input."""

    label: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Step:
    """One hash: its input in pieces, its output, and what the log says that it should be.

    Attributes:
        title: what is worked out.
        function: `sha256` or `shake256`.
        parts: the input; joined, it is what is hashed.
        output: what the function gives (as many bytes as are used, for `shake256`).
        stated: the log's own value; None where it states none.
        says: what the output means, in words.
    """

    title: str
    function: str
    parts: tuple[Part, ...]
    output: bytes
    stated: bytes | None = None
    says: str = ""

    @property
    def preimage(self) -> bytes:
        """The whole input."""
        return b"".join(part.data for part in self.parts)

    @property
    def holds(self) -> bool:
        """Whether the output is what the log states (true where it states nothing)."""
        return self.stated is None or self.output == self.stated


@dataclass(slots=True)
class Explanation:
    """One hand, ready to be followed.

    Attributes:
        hand: UUID text.
        found: the hand's entries, and what leads from them to the log's root.
        opening: the entry that says game, table and seats: the commit, or the offer where there is no more yet.
        outcome: the result of the hand's own checks.
        key: the verifier key that the log was held against, None where none was given.
        steps: the hashes, each using what came before it.
        notes: what cannot be shown, and why.
        compared: how many earlier states the log's tree was held against.
    """

    hand: str
    found: FoundHand
    opening: Offer | Commit
    outcome: HandResult
    key: VerifierKey | None
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    compared: int = 0

    @property
    def close(self) -> Close | None:
        """The hand's close, None while it is open."""
        return self.found.close[1] if self.found.close is not None else None

    @property
    def findings(self) -> list[Finding]:
        """Everything that is wrong."""
        # One hand does not tell whether its escrow is for a wrong key, or the auditor's own key is the wrong one.
        return [*self.found.findings, *(each for each in self.outcome.findings if not each.other_key)]

    @property
    def made(self) -> list[str]:
        """The names of the checks that were made."""
        tree = ["checkpoint"] * (self.key is not None) + ["append-only"] * (self.compared > 0)
        return [*tree, "lifecycle", *dict.fromkeys(self.outcome.made)]

    def judge(self, allow_test: bool) -> tuple[str, int]:
        """Verdict and exit code. `holds` is of one hand: whether the log is valid, only `audit verify` can say."""
        return judge(
            is_test=self.found.is_test,
            allow_test=allow_test,
            failed=bool(self.findings),
            unreadable=False,
            incomplete=self.close is not None and self.close.outcome == "lost",
            holds="holds",
        )


def explain(
    log: Log,
    hand: bytes,
    keys: EscrowKeys,
    *,
    key: VerifierKey | None = None,
    since: Sequence[tuple[str, bytes]] = (),
    show_sealed: bool = False,
) -> Explanation:
    """Finds a hand and lays out every hash that it rests on.

    Args:
        log: where to look for it.
        hand: its 16 bytes.
        keys: the auditor's escrow keys.
        key: the verifier key that is pinned; without one nothing leads from the entries to the signed root.
        since: earlier checkpoints or receipts, each with a name: this log must extend them. They need a key.
        show_sealed: give away a sealed hand's seed, deck and salts, where a key opens its escrow.

    Raises:
        InputError: the log or an earlier state cannot be read, or there is neither offer nor commit of this hand.
    """
    earlier = [read_earlier(name, data, key) for name, data in since] if key is not None else []
    found = find_hand(log, hand, key, earlier)
    told = _open(found, hand, keys, key)
    told.compared = len(earlier)
    sealed = told.opening.reveal == "sealed"
    known = told.outcome.seed is not None
    if key is None:
        told.notes.append(
            "no verifier key was given (--key): who signed the log, and that these entries are in it, was not checked"
        )
        told.notes += [f"{name} was not compared: without a verifier key nobody vouches for it" for name, _ in since]
    if sealed and not (show_sealed and known):
        told.notes.append(
            "this hand is sealed: its seed and the cards that nobody saw stay closed"
            + (" (--show-sealed opens them here)" if known else "")
        )
    if told.close is not None and told.close.outcome == "lost":
        told.notes.append(
            "this hand was lost: the dealer says that it can no longer read the seed; nothing is revealed"
        )
    if told.close is None:
        only = "has only its offer yet" if found.commit is None else "is still open: its seed is not revealed yet"
        told.notes.append(f"this hand {only}")
    _explain_places(told)
    _explain_offer(told)
    if found.commit is not None:
        commit = found.commit[1]
        _explain_entropy(told, commit)
        if told.outcome.seed is not None and (show_sealed or not sealed):
            _explain_deck(told, commit, told.outcome.seed)
        if sealed and told.close is not None:
            _explain_openings(told, commit, told.close)
    return told


def _open(found: FoundHand, hand: bytes, keys: EscrowKeys, key: VerifierKey | None) -> Explanation:
    close_index, close = found.close if found.close is not None else (-1, None)
    if found.commit is None:
        assert found.offer is not None
        at, offer = found.offer
        return Explanation(hand_text(hand), found, offer, check_offered(offer, at, keys, close, close_index), key)
    index, commit = found.commit
    case = Case(commit, index, found.offer[1] if found.offer is not None else None, close, close_index)
    return Explanation(hand_text(hand), found, commit, check_hand(case, keys), key)


def _explain_places(told: Explanation) -> None:
    """Explains each entry's leaf, and where a key was given every node from there to the root that is signed."""
    root = told.found.checkpoint.root
    for index, kind, raw in told.found.entries:
        nodes = told.found.inclusion_paths.get(index)
        parts: tuple[Part, ...] = (Part("00", b"\0"), Part(f"entry {index}, exact bytes", raw))
        stated = root if nodes == [] else None
        told.steps.append(Step(f"Leaf of entry {index} ({kind})", "sha256", parts, leaf_hash(raw), stated))
        for number, node in enumerate(nodes or (), 1):
            left, right = ("neighbour", "so far") if node.from_right else ("so far", "neighbour")
            parts = (Part("01", b"\1"), Part(left, node.left), Part(right, node.right))
            last = nodes is not None and number == len(nodes)
            title = "Root" if last else f"Node {number}"
            told.steps.append(Step(f"{title} above entry {index}", "sha256", parts, node.hash, root if last else None))


def _explain_offer(told: Explanation) -> None:
    """Explains whom the hand invited: each value against its commitment, as far as there is one."""
    if told.found.offer is None:
        return
    offer = told.found.offer[1]
    values = dict(told.found.commit[1].contributions) if told.found.commit is not None else {}
    silent = "withheld its value" if told.found.commit is not None else "is invited"
    for name, commitment in offer.contributors:
        if name not in values:
            told.notes.append(f"contributor {name} {silent}; its commitment is {commitment.hex()}")
            continue
        parts: tuple[Part, ...] = (
            Part("tag", protocol.tag("contribution")),
            Part(f"table {offer.table}", protocol.lp(offer.table.encode("ascii"))),
            Part(f"number {offer.number}", offer.number.to_bytes(8, "big")),
            Part(f"contributor {name}", protocol.lp(name.encode("ascii"))),
            Part("value", values[name]),
        )
        preimage = protocol.contribution_preimage(offer.table, offer.number, name, values[name])
        told.steps.append(hash_step(f"Commitment of contributor {name}", parts, preimage, commitment))


def _explain_entropy(told: Explanation, commit: Commit) -> None:
    taken = [
        Part(f"contributor {name} and its value", protocol.lp(name.encode("ascii")) + value)
        for name, value in commit.contributions
    ]
    parts = (
        Part("tag", protocol.tag("entropy")),
        Part("hand", commit.hand),
        Part("number of contributions", protocol.u16(len(taken))),
        *taken,
    )
    preimage = protocol.entropy_preimage(commit.hand, commit.contributions)
    told.steps.append(hash_step("Entropy digest", parts, preimage, commit.entropy_digest))


def _explain_deck(told: Explanation, commit: Commit, seed: bytes) -> None:
    hand = commit.hand
    parts = (Part("tag", protocol.tag("seed")), Part("hand", hand), Part("seed", seed))
    preimage = protocol.tag("seed") + hand + seed
    told.steps.append(hash_step("Seed commitment", parts, preimage, commit.seed_commitment))
    digest = protocol.entropy_digest(hand, commit.contributions)
    source = protocol.material(hand, digest, seed)
    material = (Part("hand", hand), Part("entropy digest", digest), Part("seed", seed))
    deck = told.outcome.deck or protocol.shuffle(protocol.DECKS[commit.deck], source)
    size = len(deck)
    words = words_used(size, source)
    stream = protocol.word_stream(source, 2 * len(words))
    told.steps.append(
        Step(
            "Words of the shuffle",
            "shake256",
            (Part("tag", protocol.tag("shuffle")), *material),
            stream,
            says=_words_text(words),
        )
    )
    salts = protocol.salts(source, size)
    told.steps.append(Step("Salts", "shake256", (Part("tag", protocol.tag("salts")), *material), salts))
    for position, card in enumerate(deck):
        salt = salts[32 * position : 32 * position + 32]
        told.steps.append(card_step(hand, position, card, salt, None))
    commitments = protocol.card_commitments(hand, deck, salts)
    told.steps.append(_deck_step(hand, commitments, commit.deck_commitment))


def _words_text(words: list[tuple[int, int, int, bool]]) -> str:
    lines = []
    for word, i, j, taken in words:
        outcome = f"swap {i} and {j}" if taken else f"refused: not below {65536 - 65536 % (i + 1)}"
        lines.append(f"{word:5} mod {i + 1:2}: {outcome}" if taken else f"{word:5}         {outcome}")
    return "\n".join(lines)


def _explain_openings(told: Explanation, commit: Commit, close: Close) -> None:
    hand = commit.hand
    listed = close.card_commitments
    if close.openings is not None:
        rows = zip(close.openings.positions, close.openings.cards, close.openings.salts, strict=True)
        for position, card, salt in rows:
            stated = listed[32 * position : 32 * position + 32] if listed is not None else None
            told.steps.append(card_step(hand, position, card, salt, stated))
    if listed is not None:
        told.steps.append(_deck_step(hand, listed, commit.deck_commitment))
    if close.escrow is not None and commit.escrow is not None:
        parts = (
            Part("tag", protocol.tag("escrow-digest")),
            Part("hand", hand),
            Part("ciphertext: enc and ct", close.escrow),
        )
        preimage = protocol.escrow_preimage(hand, close.escrow)
        told.steps.append(hash_step("Escrow digest", parts, preimage, commit.escrow.digest))
        info = protocol.escrow_info(hand, commit.seed_commitment)
        told.notes.append(
            f"the escrow opens by HPKE with info {info.hex()} and the key that has id {commit.escrow.key.hex()}"
        )


def card_step(hand: bytes, position: int, card: str, salt: bytes, stated: bytes | None) -> Step:
    """Returns the step of one card commitment; `stated` is the log's own, if it states one."""
    parts = (
        Part("tag", protocol.tag("card")),
        Part("hand", hand),
        Part(f"position {position}", protocol.u16(position)),
        Part(f"card {card}", card.encode("ascii")),
        Part("salt", salt),
    )
    return hash_step(
        f"Card commitment {position}: {card}", parts, protocol.card_preimage(hand, position, card, salt), stated
    )


def _deck_step(hand: bytes, commitments: bytes, stated: bytes) -> Step:
    count = len(commitments) // protocol.HASH_BYTES
    parts = (
        Part("tag", protocol.tag("deck")),
        Part("hand", hand),
        Part("number of cards", protocol.u16(count)),
        Part("card commitments, joined", commitments),
    )
    return hash_step("Deck commitment", parts, protocol.deck_preimage(hand, commitments), stated)


def hash_step(title: str, parts: tuple[Part, ...], preimage: bytes, stated: bytes | None) -> Step:
    """Returns a step of SHA-256 whose parts must join to the input that the check itself hashes."""
    step = Step(title, "sha256", parts, protocol.sha256(preimage), stated)
    assert step.preimage == preimage, title
    return step
