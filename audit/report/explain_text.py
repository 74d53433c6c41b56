"""One hand explained, as text with a command under every hash."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from audit.explain.steps import Explanation, Step
from audit.plural import counted
from audit.record.entries import Close
from audit.record.events import Deal, Draw, Fold

_HOW_TO = """\
Every step below gives a hash's input as hex, piece by piece, and then whole in a command to paste into a shell; what
the command prints must be the number after it. SHA-256 is worked out by sha256sum, SHAKE256 by openssl."""


def command(step: Step) -> str:
    """Returns a shell command that works out a step."""
    start = f"echo {step.preimage.hex()} | xxd -r -p | "
    if step.function == "sha256":
        return f"{start}sha256sum"
    return f"{start}openssl dgst -shake256 -xoflen {len(step.output)}"


def print_explanation(told: Explanation, out: Console) -> None:
    """Prints the hand, its deal, and every step."""
    opening = told.opening
    out.print(Text.assemble(("Hand ", "bold"), (told.hand, "bold")))
    seats = ", ".join(map(str, opening.seats))
    out.print(f"  {opening.game}, {opening.deck}, table {opening.table}, number {opening.number}, {opening.reveal}")
    out.print(f"  seats in dealing order: {seats}")
    tree = told.found.checkpoint
    out.print(Text(f"  log of {tree.origin}: {counted(tree.size, 'entry', 'entries')}, root {tree.root.hex()}"))
    for index, kind, raw in told.found.entries:
        out.print(f"  entry {index}: {kind}, {len(raw)} bytes")
    for text in told.notes:
        out.print(Text(f"  note: {text}"))
    if told.close is not None:
        _head("What was dealt", out)
        _print_deal(told, told.close, out)
    _head("How to follow", out)
    for line in _HOW_TO.splitlines():
        out.print(line)
    for number, step in enumerate(told.steps, 1):
        _print_step(number, step, out)
    _head("Checks of this hand", out)
    if told.found.is_test:
        out.print(Text("  a test record: dealt from chosen decks by a test double, never to be taken for real"))
    if not told.findings:
        out.print(Text(f"  all hold: {', '.join(told.made)}" if told.made else "  none could be made yet"))
    for found in told.findings:
        out.print(Text.assemble("  ", (f"FAIL  {found.check}", "bold red"), f"  {found.detail}"))
        for text in found.whole:
            for line in text.splitlines():
                out.print(Text(f"      | {line}"))


def _head(text: str, out: Console) -> None:
    out.print()
    out.print(Text(text, style="bold"))


def _print_deal(told: Explanation, close: Close, out: Console) -> None:
    known = _known_cards(told, close)
    owners: dict[int, int] = {}
    for event in close.events:
        if isinstance(event, Deal | Draw):
            name = event.street if isinstance(event, Deal) else "draw"
            shown: dict[int, list[str]] = {}
            for position, seat, face in event.cards.rows():
                owners[position] = seat
                card = known.get(position, "??")
                shown.setdefault(seat, []).append(card if face == "up" else f"({card})")
            line = "   ".join(f"{'board' if seat == 0 else seat}: {' '.join(cards)}" for seat, cards in shown.items())
            out.print(Text(f"  {name:<8} {line}"))
        elif isinstance(event, Fold):
            out.print(Text(f"  fold     {event.seat}"))
        else:
            cards = "   ".join(f"{owners.get(p, '?')}: {known.get(p, '??')}" for p in event.positions)
            out.print(Text(f"  show     {cards}"))
    out.print(Text(f"  {close.outcome}{f' ({close.reason})' if close.reason else ''}; down cards stand in brackets"))


def _known_cards(told: Explanation, close: Close) -> dict[int, str]:
    """Returns by position the cards that may be printed: a deck that the steps lay open, or what the close opens."""
    if any(step.title == "Seed commitment" for step in told.steps) and told.outcome.deck is not None:
        return dict(enumerate(told.outcome.deck))
    if close.openings is None:
        return {}
    return dict(zip(close.openings.positions, close.openings.cards, strict=True))


def _print_step(number: int, step: Step, out: Console) -> None:
    _head(f"{number}. {step.title}", out)
    width = max(len(part.label) for part in step.parts)
    for part in step.parts:
        out.print(Text(f"   {part.label:<{width}}  {part.data.hex()}"))
    out.print(Text(f"   $ {command(step)}", style="cyan"))
    out.print(Text(f"   = {step.output.hex()}"))
    if step.stated is not None:
        mark = ("as the log says", "green") if step.holds else (f"the log says {step.stated.hex()}", "bold red")
        out.print(Text.assemble("     ", mark))
    for line in step.says.splitlines():
        out.print(Text(f"     {line}"))
