"""Which batches of answers are still needed: known in memory, so that neither a close nor housekeeping searches."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dealer.store.interface import Batch
from dealer.store.kept import Member


@dataclass(slots=True)
class Change:
    """What a batch changes of what is needed; taken over once it is durable."""

    id: int
    key: int
    needed_by: set[bytes]
    begun: set[bytes]
    ended: set[bytes]
    finished: list[int]


@dataclass(slots=True)
class Needs:
    """Which batches of answers hands in play need: kept in memory, so that a close costs no search.

    Attributes:
        last: number of the newest batch.
        playing: the hands in play.
        of_hand: the batches that hold something of a hand in play.
        hands: for each such batch, of how many hands in play.
        recorded: those of the hands in play that have a record.
        keys: for each answer key, how many batches it has sealed.
        answers: how many answers are kept.
    """

    last: int = 0
    playing: set[bytes] = field(default_factory=set)
    of_hand: dict[bytes, list[int]] = field(default_factory=dict)
    hands: dict[int, int] = field(default_factory=dict)
    recorded: set[bytes] = field(default_factory=set)
    keys: Counter[int] = field(default_factory=Counter)
    answers: int = 0

    def change(self, batch: Batch, members: Sequence[Member], key: int) -> Change:
        """Works out what a batch changes, and changes nothing."""
        ended = {hand for hand, row in batch.hands.items() if row.close is not None} & self.playing
        begun = {hand for hand, row in batch.hands.items() if row.close is None} - self.playing
        needed_by = {member.hand for member in members} & ((self.playing | begun) - ended) if members else set()
        left: Counter[int] = Counter(id_ for hand in ended for id_ in self.of_hand.get(hand, ()))
        finished = [id_ for id_, hands in left.items() if hands == self.hands[id_]]
        id_ = self.last + 1 if members else 0
        if members and not needed_by:
            finished.append(id_)
        return Change(id_, key, needed_by, begun, ended, finished)

    def take(self, change: Change) -> None:
        """Notes a change that has become durable."""
        self.playing |= change.begun
        self.playing -= change.ended
        for hand in change.ended:
            for id_ in self.of_hand.pop(hand, ()):
                self.hands[id_] -= 1
        for id_ in change.finished:
            self.hands.pop(id_, None)
        if change.id:
            self.last = change.id
            self.keys[change.key] += 1
            self.add(change.id, change.needed_by)

    def add(self, batch: int, hands: Iterable[bytes]) -> None:
        """Notes that a batch holds something of these hands in play."""
        count = 0
        for hand in hands:
            self.of_hand.setdefault(hand, []).append(batch)
            count += 1
        if count:
            self.hands[batch] = count

    def drop(self, gone: Mapping[int, int]) -> bool:
        """Forgets batches, and says whether a key is not needed any more."""
        for key in gone.values():
            self.keys[key] -= 1
        unused = [key for key in set(gone.values()) if not self.keys[key]]
        for key in unused:
            del self.keys[key]
        return bool(unused)
