"""`audit explain`: one hand with the input of every hash, for a person who follows it with other tools.

Nothing of a sealed hand that its close does not open is given unless the caller asks for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from audit import note, protocol
from audit.checks import Case, Outcome, check_hand
from audit.entries import Close, Commit, Offer, Unknown, parse
from audit.errors import FormatError, InputError
from audit.escrow import EscrowKeys
from audit.forms import SchemaError, hand_text
from audit.log import Log
from audit.merkle import leaf_hash
from audit.tiles import WIDTH

CARDS_A_LINE = 13


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
        entries: index, kind and exact bytes of the hand's entries, in log order.
        steps: the hashes, each using what came before it.
        notes: what cannot be shown, and why.
        outcome: what the hand's checks came to.
        case: the hand's entries, read.
    """

    hand: str
    entries: list[tuple[int, str, bytes]]
    steps: list[Step]
    notes: list[str]
    outcome: Outcome
    case: Case


@dataclass(slots=True)
class _Found:
    entries: list[tuple[int, str, bytes]] = field(default_factory=list)
    offer: Offer | None = None
    commit: tuple[int, Commit] | None = None
    close: tuple[int, Close] | None = None


def explain(log: Log, hand: bytes, keys: EscrowKeys, *, show_sealed: bool = False) -> Explanation:
    """Finds a hand and lays out every hash that it rests on.

    Args:
        log: where to look for it.
        hand: its 16 bytes.
        keys: the auditor's escrow keys.
        show_sealed: give away a sealed hand's seed, deck and salts, where a key opens its escrow.

    Raises:
        InputError: the log cannot be read, or has no commit of this hand.
    """
    found = _find(log, hand)
    if found.commit is None:
        raise InputError(f"{log.address} has no commit of hand {hand_text(hand)}")
    index, commit = found.commit
    close_index, close = found.close if found.close is not None else (-1, None)
    case = Case(commit, index, found.offer, close, close_index)
    outcome = check_hand(case, keys)
    told = Explanation(hand_text(hand), found.entries, [], [], outcome, case)
    sealed = commit.reveal == "sealed"
    if sealed and not (show_sealed and outcome.seed is not None):
        told.notes.append(
            "this hand is sealed: its seed and the cards that nobody saw stay closed"
            + ("" if outcome.seed is None else " (--show-sealed opens them here)")
        )
    if close is None:
        told.notes.append("this hand is still open: its seed is not revealed yet")
    _explain_leaves(told)
    _explain_entropy(told)
    if outcome.seed is not None and (show_sealed or not sealed):
        _explain_deck(told, outcome.seed)
    if sealed and close is not None:
        _explain_openings(told, close)
    return told


def _find(log: Log, hand: bytes) -> _Found:
    data = log.checkpoint()
    if data is None:
        raise InputError(f"{log.address} has no checkpoint")
    try:
        size = note.checkpoint(note.decode(data)).size
    except FormatError as error:
        raise InputError(f"{log.address}: {error}") from None
    found = _Found()
    needle = hand_text(hand).encode("ascii")
    try:
        for number in range(-(-size // WIDTH)):
            try:
                raws = log.entries(number, min(WIDTH, size - number * WIDTH))
            except FormatError as error:
                raise InputError(f"{log.address}: bundle {number}: {error}") from None
            if raws is None:
                raise InputError(f"{log.address}: bundle {number} is not there")
            for at, raw in enumerate(raws, number * WIDTH):
                if needle in raw:
                    _keep(found, at, raw, hand)
            if found.close is not None:
                break
    finally:
        log.close()
    return found


def _keep(found: _Found, at: int, raw: bytes, hand: bytes) -> None:
    try:
        entry = parse(raw)
    except SchemaError as error:
        raise InputError(f"entry {at} of this hand fails schema: {error}") from None
    if isinstance(entry, Unknown) or entry.hand != hand:
        return
    found.entries.append((at, type(entry).__name__.lower(), raw))
    if isinstance(entry, Offer):
        found.offer = found.offer or entry
    elif isinstance(entry, Commit):
        found.commit = found.commit or (at, entry)
    else:
        found.close = found.close or (at, entry)


def _explain_leaves(told: Explanation) -> None:
    for index, kind, raw in told.entries:
        parts = (Part("00", b"\0"), Part(f"entry {index}, exact bytes", raw))
        told.steps.append(Step(f"Leaf of entry {index} ({kind})", "sha256", parts, leaf_hash(raw)))


def _explain_entropy(told: Explanation) -> None:
    case = told.case
    commit = case.commit
    if case.offer is not None:
        values = dict(commit.contributions)
        for name, commitment in case.offer.contributors:
            if name not in values:
                told.notes.append(f"contributor {name} withheld its value; its commitment is {commitment.hex()}")
                continue
            parts: tuple[Part, ...] = (
                Part("tag", protocol.tag("contribution")),
                Part(f"table {commit.table}", protocol.lp(commit.table.encode("ascii"))),
                Part(f"number {commit.number}", commit.number.to_bytes(8, "big")),
                Part(f"contributor {name}", protocol.lp(name.encode("ascii"))),
                Part("value", values[name]),
            )
            preimage = protocol.contribution_preimage(commit.table, commit.number, name, values[name])
            told.steps.append(_step(f"Commitment of contributor {name}", parts, preimage, commitment))
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
    told.steps.append(_step("Entropy digest", parts, preimage, commit.entropy_digest))


def _explain_deck(told: Explanation, seed: bytes) -> None:
    case = told.case
    commit, hand = case.commit, case.commit.hand
    parts = (Part("tag", protocol.tag("seed")), Part("hand", hand), Part("seed", seed))
    preimage = protocol.tag("seed") + hand + seed
    told.steps.append(_step("Seed commitment", parts, preimage, commit.seed_commitment))
    digest = protocol.entropy_digest(hand, commit.contributions)
    source = protocol.material(hand, digest, seed)
    material = (Part("hand", hand), Part("entropy digest", digest), Part("seed", seed))
    deck = told.outcome.deck or protocol.shuffle(protocol.DECKS[commit.deck], source)
    size = len(deck)
    words = protocol.words_used(size, source)
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
        told.steps.append(_card_step(hand, position, card, salt, None))
    commitments = protocol.card_commitments(hand, deck, salts)
    told.steps.append(_deck_step(hand, commitments, commit.deck_commitment))


def _words_text(words: list[tuple[int, int, int, bool]]) -> str:
    lines = []
    for word, i, j, taken in words:
        outcome = f"swap {i} and {j}" if taken else f"refused: not below {65536 - 65536 % (i + 1)}"
        lines.append(f"{word:5} mod {i + 1:2}: {outcome}" if taken else f"{word:5}         {outcome}")
    return "\n".join(lines)


def _explain_openings(told: Explanation, close: Close) -> None:
    commit, hand = told.case.commit, told.case.commit.hand
    listed = close.card_commitments
    if close.openings is not None:
        rows = zip(close.openings.positions, close.openings.cards, close.openings.salts, strict=True)
        for position, card, salt in rows:
            stated = listed[32 * position : 32 * position + 32] if listed is not None else None
            told.steps.append(_card_step(hand, position, card, salt, stated))
    if listed is not None:
        told.steps.append(_deck_step(hand, listed, commit.deck_commitment))
    if close.escrow is not None and commit.escrow is not None:
        parts = (
            Part("tag", protocol.tag("escrow-digest")),
            Part("hand", hand),
            Part("ciphertext: enc and ct", close.escrow),
        )
        preimage = protocol.escrow_preimage(hand, close.escrow)
        told.steps.append(_step("Escrow digest", parts, preimage, commit.escrow.digest))
        info = protocol.escrow_info(hand, commit.seed_commitment)
        told.notes.append(
            f"the escrow opens by HPKE with info {info.hex()} and the key that has id {commit.escrow.key.hex()}"
        )


def _card_step(hand: bytes, position: int, card: str, salt: bytes, stated: bytes | None) -> Step:
    parts = (
        Part("tag", protocol.tag("card")),
        Part("hand", hand),
        Part(f"position {position}", protocol.u16(position)),
        Part(f"card {card}", card.encode("ascii")),
        Part("salt", salt),
    )
    return _step(
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
    return _step("Deck commitment", parts, protocol.deck_preimage(hand, commitments), stated)


def _step(title: str, parts: tuple[Part, ...], preimage: bytes, stated: bytes | None) -> Step:
    step = Step(title, "sha256", parts, protocol.sha256(preimage), stated)
    assert step.preimage == preimage, title
    return step
