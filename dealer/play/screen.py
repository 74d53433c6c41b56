"""The table drawn in a terminal: cards, chips and pots, and what happens in between."""

from collections.abc import Sequence

from rich.box import ROUNDED, SIMPLE
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dealer.client.receipts import Proven
from dealer.client.values import Card
from dealer.core.hand import Face
from dealer.play.held import held
from dealer.play.keyboard import LEAVE
from dealer.play.table import TableSeen, words
from dealer.v1 import table_pb2 as pb

_SUITS = {"c": ("♣", "green"), "d": ("♦", "bright_blue"), "h": ("♥", "red"), "s": ("♠", "bold")}


def card_text(name: str) -> Text:
    """A card as it looks: rank and coloured suit, or its back."""
    if name == "??":
        return Text("▒▒", "dim")
    suit, style = _SUITS[name[1]]
    return Text(name[0] + suit, style)


def side_by_side(choices: Sequence[tuple[str, str]], width: int) -> Text:
    """Sets keys and what they do beside each other, none of them broken, in lines of at most `width` columns."""
    shown, column = Text(" "), 1
    for key, what in choices:
        choice = Text.assemble(" ", (f" {key} ", "reverse"), f" {what} ")
        if column > 1 and column + len(choice) > width:
            shown, column = shown + Text("\n "), 1
        shown, column = shown + choice, column + len(choice)
    return shown


def help_text(*, hi_lo: bool) -> Text:
    """What the person can do, and what the screen means."""
    low = (
        "\nHalf of each pot goes to the best low: five different ranks, eight or lower, ace low. Without one the high "
        "hand takes all."
        if hi_lo
        else ""
    )
    return Text(
        "Answer with the number before an action and Enter. "
        f"{LEAVE} leaves: the hand is folded, or checked on for you, and its receipt still comes.\n"
        "Two cards come down and one up; then three up, and the last one down. The lowest door card brings it in; from "
        f"fourth street on the highest hand showing speaks first. The best five of seven cards win.{low}\n"
        "A pot holds the antes and the bets of the rounds before; what lies before the seats is added beside it. A "
        "side pot is for the seats named.\n"
        '▒▒ is a card that you may not see, ·· one that was folded. "checked": this card was fixed in the log before '
        "the first card was dealt, and this program has proven it.",
        "dim",
    )


class Screen:
    """Draws for one person, who sits at `seat`."""

    def __init__(self, console: Console, seat: int) -> None:
        self._console, self._seat = console, seat

    def started(self, hand: pb.HandStarted, commit: Proven) -> None:
        """Says which hand begins, and that its deck is committed in the log."""
        stakes = hand.stakes
        self._console.print()
        self._console.rule(f"[bold]Hand {hand.hand.number}[/]", align="left")
        self._console.print(
            f"ante {stakes.ante:,}, bring-in {stakes.bring_in:,}, bets {stakes.small_bet:,} and {stakes.big_bet:,}"
        )
        self._console.print(
            f"[dim]deck committed as {hand.hand.deck_commitment.hex()[:16]}…, entry {commit.index} of the log[/]  "
            "[green]checked[/]"
        )
        if hand.hand.seat_keys:
            self._console.print(
                "[dim]your down cards come sealed to a key that this program drew for this hand alone[/]"
            )

    def cards(self, street: str, cards: Sequence[Card]) -> None:
        """Says which cards the person got, each checked."""
        mine = [card for card in cards if card.seat == self._seat]
        board = [card for card in cards if not card.seat]
        for whose, group in (("You get", mine), ("For everybody", board)):
            if group:
                line = Text(f"{street.capitalize()} street. {whose} ", "bold")
                for card in group:
                    down = " down" if card.face is Face.DOWN else ""
                    line += Text.assemble(card_text(card.name), f"{down} ", ("checked", "green"), "  ")
                self._console.print(line)

    def table(self, seen: TableSeen) -> None:
        """Draws the table."""
        grid = Table(box=SIMPLE, show_edge=False, pad_edge=False, header_style="dim")
        for title in ("", "cards", "bet", "stack", ""):
            grid.add_column(title, justify="right" if title in ("bet", "stack") else "left")
        for number, seat in seen.seats.items():
            cards = Text(" ").join(card_text(card) for _, card in sorted(seat.cards.items()))
            if seat.folded:
                cards = Text(" ".join(["··"] * len(seat.cards)), "dim")
            name = Text("you" if number == self._seat else f"seat {number}", "bold" if number == self._seat else "")
            here = Text("◀ to act", "yellow") if number == seen.to_act else Text(seat.last, "dim")
            grid.add_row(name, cards, f"{seat.bet:,}" if seat.bet else "", f"{seat.stack:,}", here)
        parts: list[RenderableType] = [grid]
        if seen.board:
            parts.append(Text.assemble(("board  ", "dim"), *(card_text(card) for card in seen.board)))
        parts.append(self._pots(seen))
        own = [card for _, card in sorted(seen.seats[self._seat].cards.items())]
        if not seen.seats[self._seat].folded:
            parts.append(Text.assemble(("you hold  ", "dim"), held([*own, *seen.board], hi_lo=seen.hi_lo)))
        self._console.print(Panel(Group(*parts), box=ROUNDED, title=f"{seen.street} street", width=72))

    def happened(self, event: pb.TableEvent) -> None:
        """Says what others did, and how the hand ended."""
        match event.WhichOneof("event"):
            case "bring_in_due":
                self._say(event.bring_in_due.seat, "lowest card")
            case "seat_acted":
                acted = event.seat_acted
                why = {pb.CAUSE_TIMEOUT: " (time ran out)", pb.CAUSE_LEFT: " (has left)"}.get(acted.cause, "")
                all_in = ", all-in" if acted.chips and not acted.stack else ""
                self._say(acted.seat, f"{words(acted.action, acted.amount)}{all_in}{why}")
            case "bet_returned":
                self._say(event.bet_returned.seat, f"{event.bet_returned.amount:,} come back that nobody called")
            case "hand_shown":
                shown = event.hand_shown
                cards = Text(" ").join(card_text(card.card) for card in shown.cards)
                line = Text.assemble(f"  {self._name(shown.seat)}: show ", cards, f" for {shown.name}  ")
                self._console.print(line + Text("checked", "green"))
            case "hand_mucked":
                self._say(event.hand_mucked.seat, "muck")
            case "pot_awarded":
                self._award(event.pot_awarded.award)

    def finished(self, closed: Proven, reveals: bool, command: str | None) -> None:
        """Says what the log reveals, and shows the hand's receipt, in lines that can be copied.

        Args:
            closed: the hand's close.
            reveals: whether it reveals the whole deck.
            command: what checks the hand's receipts where they were kept; None: they were not.
        """
        what = "it reveals the committed deck" if reveals else "it opens what the table saw"
        self._console.print(f"[dim]closed as entry {closed.index} of the log; {what}[/]  [green]checked[/]")
        self._console.rule("[dim]the hand's receipt, for anybody to check offline[/]", style="dim")
        self._console.print(closed.receipt.strip(), style="dim", soft_wrap=True)
        self._console.rule(style="dim")
        if command is not None:
            self._console.print("The hand is kept; this checks it, now or later, without the dealer:")
            self._console.print(command, soft_wrap=True)

    def _award(self, award: pb.Award) -> None:
        half = " for low" if award.half == pb.HALF_LOW else ""
        pot = f"side pot {award.pot}" if award.pot else "pot"
        for winner in award.winners:
            held = f", {winner.name}" if winner.name else ""
            line = f"  {self._name(winner.seat)}: win {winner.share:,} of the {pot}{half}{held}"
            self._console.print(line, style="bold yellow")

    def _pots(self, seen: TableSeen) -> Text:
        """The pots, the main pot first, whose each side pot is, and what lies before the seats."""
        alone = len(seen.pots) == 1
        names = ["pot" if alone else "main pot", *(f"side pot {n}" for n in range(1, len(seen.pots)))]
        lines = []
        for name, pot in zip(names, seen.pots, strict=False):
            whose = "" if alone else "  for " + ", ".join(self._name(seat).lower() for seat in pot.eligible)
            lines.append(Text.assemble((f"{name} ", "dim"), (f"{pot.amount:,}", "bold"), (whose, "dim")))
        if bets := sum(seat.bet for seat in seen.seats.values()):
            total = bets + sum(pot.amount for pot in seen.pots)
            lines.append(Text.assemble((f"bets {bets:,}, in all ", "dim"), (f"{total:,}", "bold")))
        return Text("\n").join(lines)

    def _name(self, seat: int) -> str:
        return "You" if seat == self._seat else f"Seat {seat}"

    def _say(self, seat: int, what: str) -> None:
        self._console.print(f"  {self._name(seat)}: {what}")
