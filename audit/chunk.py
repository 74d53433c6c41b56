"""One stretch of a log, checked by one process: its hashes, its entries, and every hand that lies wholly within it.

What needs the rest of the log goes back in short: subtree roots, traces for `lifecycle`, and the bytes of entries
whose hand goes beyond the stretch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from audit.checks import Case, Outcome, check_hand
from audit.dealt import Dealt, dealt_hand
from audit.entries import Close, Commit, Entry, Offer, Unknown, parse
from audit.errors import FormatError
from audit.escrow import EscrowKeys
from audit.findings import Finding
from audit.forms import SchemaError, hand_text
from audit.lifecycle import CloseTrace, CommitTrace, OfferTrace, Trace, Unchecked
from audit.log import Log
from audit.merkle import Peaks, full_root, leaf_hash
from audit.protocol import HASH_BYTES, sha256
from audit.tiles import WIDTH, path
from audit.voids import VoidedHand, voided_hand

BUNDLES = 8
"""Bundles in a stretch: 2,048 entries, about a thousand hands."""

SEED_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class Setting:
    """What every stretch is checked with."""

    log: Log
    keys: EscrowKeys
    size: int
    want_decks: bool = False


@dataclass(frozen=True, slots=True)
class Stretch:
    """Bundles `first` to `last` (exclusive); sizes whose root, and indexes whose leaf hash, somebody asks for."""

    first: int
    last: int
    sizes: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()


@dataclass(slots=True)
class Checked:
    """What checking some hands came to; sums of it are what checking all of them came to."""

    made: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    without_key: int = 0
    seeds: list[tuple[bytes, int, bytes]] = field(default_factory=list)
    voids: list[VoidedHand] = field(default_factory=list)
    dealt: list[Dealt] = field(default_factory=list)


@dataclass(slots=True)
class Read:
    """What a stretch came to.

    Attributes:
        hands: the hands that were checked here.
        traces: for `lifecycle`, in log order.
        roots: for each bundle its leaves' subtree, None where they are not known; the last may be partial.
        roots_at: the subtree of each bundle that ends within a size asked for, up to that size.
        leaves: the leaf hashes asked for.
        unknown: index and reason of entries that are unknown, at most one for each bundle that is not there.
        missing_tiles: paths of hash tiles that are not there.
        is_test: some entry says that it is of a test record.
        entries: how many entries were there.
    """

    hands: Checked = field(default_factory=Checked)
    traces: list[Trace] = field(default_factory=list)
    roots: list[Peaks | None] = field(default_factory=list)
    roots_at: dict[int, Peaks | None] = field(default_factory=dict)
    leaves: dict[int, bytes] = field(default_factory=dict)
    unknown: list[tuple[int, str]] = field(default_factory=list)
    missing_tiles: list[str] = field(default_factory=list)
    is_test: bool = False
    entries: int = 0


def read_stretch(setting: Setting, stretch: Stretch) -> Read:
    """Reads and checks one stretch of the log."""
    read = Read()
    held: dict[int, tuple[Entry, bytes]] = {}
    for number in range(stretch.first, stretch.last):
        _read_bundle(setting, stretch, number, read, held)
    settled = _check_whole_hands(setting, held, read)
    read.traces = [trace for at, (entry, raw) in held.items() if (trace := _trace(at, entry, raw, settled))]
    return read


def check_unchecked(setting: Setting, batch: list[Unchecked]) -> Checked:
    """Checks hands whose entries lie in different stretches, or that are still open."""
    checked = Checked()
    for item in batch:
        commit = parse(item.commit[1])
        offer = parse(item.offer[1]) if item.offer is not None else None
        close = parse(item.close[1]) if item.close is not None else None
        assert isinstance(commit, Commit)
        assert offer is None or isinstance(offer, Offer)
        assert close is None or isinstance(close, Close)
        at = item.close[0] if item.close is not None else -1
        _add_hand(setting, Case(commit, item.commit[0], offer, close, at), checked)
    return checked


def _read_bundle(
    setting: Setting, stretch: Stretch, number: int, read: Read, held: dict[int, tuple[Entry, bytes]]
) -> None:
    first = number * WIDTH
    width = min(WIDTH, setting.size - first)
    try:
        raws = setting.log.entries(number, width)
        if raws is None:
            read.unknown.append((first, f"bundle {path('entries', number, width)} is not there"))
    except FormatError as error:
        raws = None
        read.unknown.append((first, f"bundle {path('entries', number, width)} does not decode"))
        read.hands.findings.append(Finding("checkpoint", first, None, f"{path('entries', number, width)}: {error}"))
    tile = _tile(setting, number, width, read)
    if raws is not None:
        read.entries += len(raws)
        hashes = [leaf_hash(raw) for raw in raws]
        _read_entries(first, raws, read, held)
        if tile is not None:
            read.hands.made["checkpoint"] += 1
            _compare_tile(first, hashes, tile, read, held)
    elif tile is not None:
        hashes = [tile[i : i + HASH_BYTES] for i in range(0, len(tile), HASH_BYTES)]
    else:
        hashes = []
    _keep_hashes(stretch, first, hashes, read)


def _tile(setting: Setting, number: int, width: int, read: Read) -> bytes | None:
    if not setting.log.has_tiles:
        return None
    try:
        tile = setting.log.tile(0, number, width)
    except FormatError as error:
        finding = Finding("checkpoint", number * WIDTH, None, f"{path(0, number, width)}: {error}")
        read.hands.findings.append(finding)
        return None
    if tile is None:
        read.missing_tiles.append(path(0, number, width))
    return tile


def _compare_tile(
    first: int, hashes: list[bytes], tile: bytes, read: Read, held: dict[int, tuple[Entry, bytes]]
) -> None:
    if b"".join(hashes) == tile:
        return
    wrong = [i for i, found in enumerate(hashes) if tile[HASH_BYTES * i : HASH_BYTES * (i + 1)] != found]
    at = first + wrong[0]
    entry = held[at][0] if at in held else None
    hand = None if entry is None or isinstance(entry, Unknown) else hand_text(entry.hand)
    expected = tile[HASH_BYTES * wrong[0] : HASH_BYTES * (wrong[0] + 1)]
    more = f" ({len(wrong)} entries of this tile disagree)" if len(wrong) > 1 else ""
    detail = f"the tile and the entry disagree: expected leaf {expected.hex()}, found {hashes[wrong[0]].hex()}{more}"
    read.hands.findings.append(Finding("checkpoint", at, hand, detail))


def _keep_hashes(stretch: Stretch, first: int, hashes: list[bytes], read: Read) -> None:
    read.roots.append(_subtree(hashes) if hashes else None)
    for size in stretch.sizes:
        if first < size < first + WIDTH:
            read.roots_at[size] = _subtree(hashes[: size - first]) if hashes else None
    for index in stretch.leaves:
        if first <= index < first + len(hashes):
            read.leaves[index] = hashes[index - first]


def _subtree(hashes: list[bytes]) -> Peaks:
    peaks = Peaks()
    if len(hashes) == WIDTH:
        peaks.append(full_root(hashes), height=8)
    else:
        for leaf in hashes:
            peaks.append(leaf)
    return peaks


def _read_entries(first: int, raws: list[bytes], read: Read, held: dict[int, tuple[Entry, bytes]]) -> None:
    read.hands.made["schema"] += len(raws)
    for at, raw in enumerate(raws, first):
        try:
            entry = parse(raw)
        except SchemaError as error:
            read.is_test = read.is_test or error.test
            read.hands.findings.append(Finding("schema", at, error.hand, str(error)))
            continue
        read.is_test = read.is_test or entry.test
        if isinstance(entry, Unknown):
            read.unknown.append((at, f"schema {entry.schema[:80]!a}"))
        else:
            held[at] = (entry, raw)


def _check_whole_hands(setting: Setting, held: dict[int, tuple[Entry, bytes]], read: Read) -> set[int]:
    """Checks the hands whose entries are all here and name each other; gives the indexes of these entries."""
    settled: set[int] = set()
    for at, (close, _) in held.items():
        if not isinstance(close, Close) or close.commit in settled or close.commit >= at:
            continue
        commit = held[close.commit][0] if close.commit in held else None
        if not isinstance(commit, Commit) or commit.hand != close.hand:
            continue
        offer: Offer | None = None
        if commit.offer is not None:
            named = held[commit.offer][0] if commit.offer in held and commit.offer < close.commit else None
            if not isinstance(named, Offer) or named.hand != commit.hand or commit.offer in settled:
                continue
            offer = named
            settled.add(commit.offer)
        elif commit.contributions or commit.withheld:
            continue  # its offer may be one that it does not name
        settled.update((close.commit, at))
        _add_hand(setting, Case(commit, close.commit, offer, close, at), read.hands)
    return settled


def _add_hand(setting: Setting, case: Case, checked: Checked) -> None:
    outcome = check_hand(case, setting.keys)
    for check in outcome.made:
        checked.made[check] += 1
    checked.findings += outcome.findings
    checked.without_key += outcome.needs_key
    if outcome.seed is not None:
        checked.seeds.append((sha256(outcome.seed)[:SEED_KEY_BYTES], case.close_index, case.commit.hand))
    checked.voids += _voided(case, outcome)
    if setting.want_decks and not outcome.findings and outcome.deck is not None:
        checked.dealt.append(dealt_hand(case, outcome.deck))


def _voided(case: Case, outcome: Outcome) -> Iterator[VoidedHand]:
    close = case.close
    if close is not None and close.outcome == "void" and outcome.deck is not None:
        hand = voided_hand(case.commit, outcome.deck)
        if hand is not None:
            yield hand


def _trace(at: int, entry: Entry, raw: bytes, settled: set[int]) -> Trace | None:
    kept = None if at in settled else raw
    if isinstance(entry, Commit):
        taken = tuple([name for name, _ in entry.contributions])
        return CommitTrace(at, entry.hand, entry.table, entry.number, entry.offer, taken, entry.withheld, kept)
    if isinstance(entry, Close):
        return CloseTrace(at, entry.hand, entry.commit, entry.reason, kept)
    if isinstance(entry, Offer):
        return OfferTrace(at, entry.hand, entry.table, entry.number, kept)
    return None
