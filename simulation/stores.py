"""The stores of a simulated dealer: a model of one in memory, and what makes either kind fail."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dealer.store.interface import (
    Answer,
    Batch,
    HandRow,
    KeptAnswer,
    Store,
    StoreError,
    TableRow,
)


@dataclass(slots=True)
class Model:
    """What is durable in a model store. Whoever opens it anew shuts out those who had it open before (MACHINES.md)."""

    origin: str
    note: str
    epoch: int = 0
    log: list[bytes] = field(default_factory=list)
    nodes: dict[tuple[int, int], bytes] = field(default_factory=dict)
    hands: dict[bytes, HandRow] = field(default_factory=dict)
    tables: dict[str, TableRow] = field(default_factory=dict)
    answers: dict[tuple[str, bytes], Answer] = field(default_factory=dict)
    records: dict[bytes, list[bytes]] = field(default_factory=dict)
    expires: dict[bytes, int] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)


class ModelStore:
    """A store on a model: what a store has to do, and nothing of how."""

    uncertain = False

    def __init__(self, model: Model) -> None:
        model.epoch += 1
        self._model, self._epoch = model, model.epoch
        self.origin = model.origin

    def commit(self, batch: Batch) -> None:
        model = self._model
        if self._epoch != model.epoch:
            raise StoreError("somebody else has opened the store since")
        if not model.seen.isdisjoint(batch.seen) or any((n.level, n.index) in model.nodes for n in batch.nodes):
            raise StoreError("this is there already")
        model.log += batch.entries
        model.nodes |= {(node.level, node.index): node.hash for node in batch.nodes}
        model.note = batch.checkpoint or model.note
        model.hands |= batch.hands
        model.tables |= batch.tables
        model.seen |= set(batch.seen)
        for line in batch.records:
            model.records.setdefault(line.hand, []).append(line.line)
        for answer in batch.answers:
            model.answers[answer.caller, answer.request] = answer
        for hand in {*batch.hands, *(answer.hand for answer in batch.answers)}:
            if (row := model.hands.get(hand)) is None or row.close is not None:
                model.expires[hand] = batch.expires

    def size(self) -> int:
        return len(self._model.log)

    def checkpoint(self) -> str:
        return self._model.note

    def node(self, level: int, index: int) -> bytes:
        try:
            return self._model.nodes[level, index]
        except KeyError:
            raise StoreError(f"the log has no node {index} at level {level}") from None

    def entries(self, start: int, end: int) -> Iterator[bytes]:
        yield from self._model.log[start:end]

    def mark(self, name: str) -> str | None:
        return None

    def published(self) -> str:
        return self.checkpoint()

    def witnessed(self) -> str | None:
        return None

    def publish(self, note: str, witnessed: bool = False) -> None:
        pass

    def confirm(self) -> None:
        if self._epoch != self._model.epoch:
            raise StoreError("somebody else has opened the store since")

    def waited(self) -> dict[bytes, float]:
        return {}

    def tend(self) -> bool:
        return False

    def sealed_anew(self) -> None:
        pass

    def hand(self, hand: bytes) -> HandRow | None:
        return self._model.hands.get(hand)

    def hands_in_play(self) -> Iterable[HandRow]:
        return [row for row in self._model.hands.values() if row.close is None]

    def tables(self) -> Iterator[TableRow]:
        yield from [row for _, row in sorted(self._model.tables.items())]

    def tables_in_play(self) -> Iterator[TableRow]:
        yield from [row for row in self._model.tables.values() if row.hand is not None]

    def table(self, table: str) -> TableRow | None:
        return self._model.tables.get(table)

    def answers(self, asked: Sequence[tuple[str, bytes]]) -> dict[tuple[str, bytes], KeptAnswer]:
        found = {key: self._model.answers[key] for key in asked if key in self._model.answers}
        return {
            key: KeptAnswer(a.caller, a.request, a.body, a.hand, lambda answer=a.answer: answer)  # type: ignore[misc]
            for key, a in found.items()
        }

    def record(self, hand: bytes) -> list[bytes]:
        return list(self._model.records.get(hand, ()))

    def is_seen(self, digest: bytes) -> bool:
        return digest in self._model.seen

    def forget(self, now: int, most: int) -> bool:
        model = self._model
        gone = {hand for hand, expires in model.expires.items() if expires <= now}
        model.answers = {key: answer for key, answer in model.answers.items() if answer.hand not in gone}
        for hand in gone:
            del model.expires[hand]
            model.records.pop(hand, None)
        return False

    def close(self) -> None:
        pass


BEFORE, ALTHOUGH, LATE = "before", "although it persisted", "late"


@dataclass(slots=True)
class Plan:
    """Which calls of a store fail, and how.

    Attributes:
        calls: made so far.
        first: the number of the first call that fails; None: none does.
        times: so many calls fail from then on.
        mode: how a commit fails; any other call just does.
        failed: how many calls have failed.
        in_flight: a commit that failed late, with how many commits it is still behind.
    """

    rng: random.Random
    calls: int = 0
    first: int | None = None
    times: int = 1
    mode: str = BEFORE
    failed: int = 0
    in_flight: list[tuple[int, Callable[[], None]]] = field(default_factory=list)

    def arm(self, after: int, times: int, mode: str) -> None:
        """Has calls fail, the first of them after so many."""
        self.first, self.times, self.mode = self.calls + 1 + after, times, mode

    def stop(self) -> None:
        """Has no more calls fail."""
        self.first = None

    def next_fails(self) -> bool:
        """Counts a call, and tells whether it is to fail."""
        self.calls += 1
        fails = self.first is not None and self.first <= self.calls < self.first + self.times
        self.failed += fails
        return fails

    def committed(self) -> None:
        """Lets a late commit happen, if enough others have come since."""
        waiting, self.in_flight = self.in_flight, []
        for behind, land in waiting:
            if behind > 1:
                self.in_flight.append((behind - 1, land))
            else:
                self._land(land)

    def opened(self) -> None:
        """Settles what is in flight as a fence does: it comes before whoever opens the store, or never."""
        waiting, self.in_flight = self.in_flight, []
        for _, land in waiting:
            if self.rng.random() < 0.5:
                self._land(land)

    def _land(self, land: Callable[[], None]) -> None:
        try:
            land()
        except StoreError:
            self.failed += 1


class FailingStore:
    """A store of which calls fail by a plan."""

    def __init__(self, store: Store, plan: Plan) -> None:
        self._store, self._plan = store, plan
        self.origin = store.origin

    def commit(self, batch: Batch) -> None:
        plan, size = self._plan, self._store.size()
        if not plan.next_fails():
            self._store.commit(batch)
            plan.committed()
            return
        if plan.mode == ALTHOUGH:
            self._store.commit(batch)
        elif plan.mode == LATE:
            plan.in_flight.append((2, lambda: self._land(batch, size)))
        raise StoreError(f"the store was made to fail {plan.mode}")

    def _land(self, batch: Batch, size: int) -> None:
        if self._store.size() == size:  # a transaction's own fence (MACHINES.md, section 4)
            self._store.commit(batch)

    def __getattr__(self, name: str) -> object:
        made = getattr(self._store, name)
        if callable(made) and name != "close" and self._plan.next_fails():
            raise StoreError("the store was made to fail")
        return made

    def close(self) -> None:
        self._store.close()
