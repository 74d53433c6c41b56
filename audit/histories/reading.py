"""Reads files of hand histories: what of them can be tested, what is left out and why, what cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from audit.histories import phh, text
from audit.histories.third_street import Dealt, HistoryError, OtherGame


@dataclass(frozen=True, slots=True)
class Problem:
    """A place that cannot be read.

    Attributes:
        file: its name.
        line: from 1.
        detail: what is wrong there.
    """

    file: str
    line: int
    detail: str


@dataclass(slots=True)
class Histories:
    """What files of hand histories hold.

    Attributes:
        hands: third street of each hand of stud, each hand once.
        files: how many hands of stud each file has that no earlier one has.
        left_out: how many hands were left out, by reason.
        problems: hands that cannot be read.
    """

    hands: list[Dealt] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)
    _places: dict[object, int] = field(default_factory=dict)

    def add(self, file: str, data: bytes) -> None:
        """Reads one file more; nothing is counted twice, whatever its file is called."""
        self.files.setdefault(file, 0)
        try:
            told = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            self.problems.append(Problem(file, line, f"byte {error.start} is no UTF-8: {data[error.start]:#04x}"))
            return
        form = phh if phh.is_phh(told) else text if text.is_text(told) else None
        if form is None:
            self.problems.append(Problem(file, 1, "there is no hand history in it, neither PHH nor a room's text"))
            return
        for line, hand in form.hands(told):
            if hand.strip():
                self._hand(file, line, hand, form.read)

    def _hand(self, file: str, line: int, hand: str, read: Callable[[str, int], Dealt]) -> None:
        try:
            dealt = read(hand, line)
        except OtherGame as other:
            self.left_out[f"another game: {other}"] += 1
            return
        except HistoryError as error:
            self.problems.append(Problem(file, error.line, error.detail))
            return
        at = self._places.setdefault(dealt.name or dealt, len(self.hands))
        if at == len(self.hands):
            self.hands.append(dealt)
            self.files[file] += 1
            return
        known = self.hands[at]
        if (known.doors, known.players) != (dealt.doors, dealt.players):
            self.problems.append(Problem(file, line, f"hand {dealt.name} was told before, with other cards"))
            return
        self.left_out["told twice: counted once"] += 1
        if _told(dealt) > _told(known):  # as a fuller record of the same hand tells it
            self.hands[at] = dealt


def _told(dealt: Dealt) -> int:
    return sum(hole is not None for hole in dealt.holes)


def own_holes(hands: Sequence[Dealt], player: str | None) -> tuple[list[tuple[int, int] | None], Counter[str]]:
    """Finds each hand's one pair of down cards that nobody's play has selected.

    Cards that were told at the deal are those of whoever kept the history, or, in a record of the room's own, of
    everybody. Where those of some are told and of others not, play may have chosen whose: they were shown.

    Args:
        hands: third street of each.
        player: whose cards to take; None: of the player whose cards are told most often, or of the first seat where
            everybody's are.

    Returns:
        For each hand the index of the seat whose down cards count and the number of seats told; and why others do not.
    """
    alone = Counter(_only(hand) for hand in hands)
    del alone[None]
    chosen = player if player is not None else alone.most_common(1)[0][0] if alone else None
    found: list[tuple[int, int] | None] = []
    why: Counter[str] = Counter()
    for hand in hands:
        told = [seat for seat, hole in enumerate(hand.holes) if hole is not None]
        if player is not None:
            seat = hand.players.index(player) if player in hand.players else None
            holds = seat is not None and hand.holes[seat] is not None and len(told) in (1, len(hand.holes))
            found.append((seat, len(told)) if seat is not None and holds else None)
            why["down cards of others than the player who was asked for"] += not holds
        elif len(told) == len(hand.holes):
            found.append((0, len(told)))
        elif len(told) == 1 and hand.players[told[0]] == chosen:
            found.append((told[0], 1))
        else:
            found.append(None)
            if len(told) == 1:
                why["down cards of another player: which hands are kept may be chosen"] += 1
            elif told:
                why["down cards of some seats and not of others: who shows is selected by play"] += 1
    return found, Counter({reason: count for reason, count in why.items() if count})


def _only(hand: Dealt) -> str | None:
    told = [seat for seat, hole in enumerate(hand.holes) if hole is not None]
    return hand.players[told[0]] if len(told) == 1 else None


def read_files(files: Iterable[tuple[str, bytes]]) -> Histories:
    """Reads files, each given as its name and its bytes."""
    histories = Histories()
    for name, data in files:
        histories.add(name, data)
    return histories
