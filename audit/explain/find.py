"""Finds one hand in a log, and what leads from its entries to the root that the log's checkpoint signs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from audit.errors import FormatError, InputError
from audit.findings import Finding
from audit.logs.log import Log
from audit.plural import counted
from audit.record.entries import Close, Commit, Offer, Unknown
from audit.record.fields import SchemaError, hand_text
from audit.record.reading import parse
from audit.tlog.checkpoint import Checkpoint, check_checkpoint, is_test_name
from audit.tlog.earlier import Earlier, check_append_only
from audit.tlog.keys import VerifierKey
from audit.tlog.merkle import EMPTY_ROOT, full_root, leaf_hash
from audit.tlog.proofs import Node, climb
from audit.tlog.tiles import WIDTH
from audit.whole.lifecycle import follow_alone


@dataclass(slots=True)
class FoundHand:
    """A hand's entries, as far as they are there, each with its log index.

    Attributes:
        checkpoint: what the log's checkpoint says.
        entries: index, kind and exact bytes, in log order.
        offer: the hand's offer.
        commit: its commit.
        close: its close.
        parsed: all of its entries, each with its log index.
        unknown: the first entry of unknown schema that names the hand.
        inclusion_paths: for each entry the nodes between its leaf and the root; empty where no verifier key was given.
        findings: what is wrong with the checkpoint, the tree, or the form and order of the hand's entries.
        is_test: the log or the hand is a test double's.
    """

    checkpoint: Checkpoint
    entries: list[tuple[int, str, bytes]] = field(default_factory=list)
    offer: tuple[int, Offer] | None = None
    commit: tuple[int, Commit] | None = None
    close: tuple[int, Close] | None = None
    parsed: list[tuple[int, Offer | Commit | Close]] = field(default_factory=list)
    unknown: int | None = None
    inclusion_paths: dict[int, list[Node]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    is_test: bool = False


def find_hand(log: Log, hand: bytes, key: VerifierKey | None, earlier: Sequence[Earlier] = ()) -> FoundHand:
    """Looks for a hand's entries; with a key, checks who signed the log and builds the tree that its root is of.

    Args:
        log: where to look; it is closed afterwards.
        hand: its 16 bytes.
        key: the verifier key that is pinned.
        earlier: states of the log that its tree must extend, each signed by `key`.

    Raises:
        InputError: the log cannot be read, or has neither offer nor commit of this hand.
    """
    try:
        data = log.checkpoint()
        if data is None:
            raise InputError(log.why_no_checkpoint())
        checkpoint, findings = check_checkpoint(data, key)
        if checkpoint is None:
            raise InputError(f"{log.address}: {findings[0].detail}")
        found = FoundHand(checkpoint, findings=findings, is_test=is_test_name(key, checkpoint))
        tree = _Tree({e.checkpoint.size for e in earlier}, {e.index for e in earlier if e.index is not None})
        for number in range(-(-checkpoint.size // WIDTH)):
            raws = _bundle(log, number, checkpoint.size)
            mine = _look(found, hand, number * WIDTH, raws)
            if key is not None:
                tree.grow(raws, keep=mine)
    finally:
        log.close()
    if found.offer is None and found.commit is None:
        raise InputError(f"{log.address} has neither offer nor commit of hand {hand_text(hand)}")
    found.findings += follow_alone(found.parsed, found.unknown)
    if key is not None:
        _check_places(found, tree)
        for each in earlier:
            size = each.checkpoint.size
            root = tree.root(size) if size <= found.checkpoint.size else None
            found.findings += check_append_only(each, found.checkpoint, data, root, tree.leaf(each.index))
    return found


def _bundle(log: Log, number: int, size: int) -> list[bytes]:
    try:
        raws = log.entries(number, min(WIDTH, size - number * WIDTH))
    except FormatError as error:
        raise InputError(f"{log.address}: bundle {number}: {error}") from None
    if raws is None:
        raise InputError(f"{log.address}: bundle {number} is not there")
    return raws


def _look(found: FoundHand, hand: bytes, first: int, raws: list[bytes]) -> bool:
    """Looks through a bundle; whether anything of the hand is in it."""
    needle = hand_text(hand).encode("ascii")
    before = len(found.entries)
    for at, raw in enumerate(raws, first):
        if needle in raw:
            _keep(found, hand, at, raw)
    return len(found.entries) > before


def _keep(found: FoundHand, hand: bytes, at: int, raw: bytes) -> None:
    try:
        entry = parse(raw)
    except SchemaError as error:
        if error.hand == hand_text(hand):
            found.is_test = found.is_test or error.test
            found.findings.append(Finding("schema", at, error.hand, str(error)))
        return
    if isinstance(entry, Unknown):
        found.unknown = at if found.unknown is None else found.unknown
        return
    if entry.hand != hand:
        return
    found.parsed.append((at, entry))
    found.is_test = found.is_test or entry.test
    found.entries.append((at, type(entry).__name__.lower(), raw))
    if isinstance(entry, Offer):
        found.offer = found.offer or (at, entry)
    elif isinstance(entry, Commit):
        found.commit = found.commit or (at, entry)
    else:
        found.close = found.close or (at, entry)


class _Tree:
    """The whole log's tree by its bundles, with the leaves of those that somebody asks for."""

    def __init__(self, sizes: set[int], indexes: set[int]) -> None:
        self._bundles: list[bytes] = []
        self._leaves: dict[int, list[bytes]] = {}
        self._wanted = {number // WIDTH for number in sizes | indexes}

    def grow(self, raws: list[bytes], *, keep: bool) -> None:
        """Takes the next bundle; `keep` says whether somebody will climb from one of its leaves."""
        leaves = [leaf_hash(raw) for raw in raws]
        number = len(self._bundles)
        if keep or number in self._wanted:
            self._leaves[number] = leaves
        self._bundles.append(full_root(leaves) if len(leaves) == WIDTH else _root(leaves))

    def root(self, size: int | None = None) -> bytes:
        """Returns the root over everything, or over the first `size` entries (one of the sizes asked for)."""
        if size is None:
            return _root(self._bundles)
        number, within = divmod(size, WIDTH)
        return _root(self._bundles[:number] + ([_root(self._leaves[number][:within])] if within else []))

    def leaf(self, index: int | None) -> bytes | None:
        """Returns the hash of a leaf that was asked for; None where the tree does not have it."""
        number, within = divmod(index or 0, WIDTH)
        leaves = self._leaves.get(number, [])
        return leaves[within] if index is not None and within < len(leaves) else None

    def inclusion_path(self, index: int) -> list[Node]:
        """Returns the nodes between a leaf and the root."""
        number, within = divmod(index, WIDTH)
        return climb(self._leaves[number], within) + climb(self._bundles, number)


def _root(hashes: list[bytes]) -> bytes:
    if len(hashes) < 2:
        return hashes[0] if hashes else EMPTY_ROOT
    return climb(hashes, 0)[-1].hash


def _check_places(found: FoundHand, tree: _Tree) -> None:
    for index, _, _ in found.entries:
        found.inclusion_paths[index] = tree.inclusion_path(index)
    root, checkpoint = tree.root(), found.checkpoint
    if root != checkpoint.root:
        size = counted(checkpoint.size, "entry", "entries")
        detail = f"root of {size}: expected {checkpoint.root.hex()}, found {root.hex()}"
        found.findings.append(Finding("checkpoint", None, None, detail))
