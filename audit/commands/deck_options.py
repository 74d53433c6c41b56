"""What `stats`, `count` and `merge` share: options that name decks, and the counting of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from audit.cluster import Cluster
from audit.commands.cluster import cluster_at, dask_option
from audit.commands.options import ca_option, escrow_key_option, escrow_keys, keys_option
from audit.commands.progress import DeckBars, deck_bars
from audit.commands.run import command_line, inputs, note_input
from audit.commands.several import once
from audit.commands.standard_input import StandardInput
from audit.hand.escrow import EscrowKeys
from audit.report.console import console, print_json
from audit.report.subject import file_digest, subject
from audit.stats.batch import Bytes
from audit.stats.counting.corpus import BY_SEAT, Corpus, family_names
from audit.stats.counting.count import count_source
from audit.stats.counting.pool import cores
from audit.stats.judging.reading import Reading, hint_of_order
from audit.stats.results import BatteryResult
from audit.stats.sources import DECK_KINDS, INDEXES, STANDARD52, DeckKind, open_source, read_order
from audit.stats.sources.files import load_array
from audit.stats.sources.logs import log_opener
from audit.stats.sources.opening import Decks
from audit.tlog.keys import VerifierKey
from audit.whole.report import Report
from audit.whole.verify import Options

EXIT_CODES = {"pass": 0, "fail": 1, "insufficient": 3, "unreadable": 4}

_LOG_DIMENSIONS = ("day", "table", "seat", BY_SEAT, "dealer")

EPILOG = """\b
Exit codes: 0 no evidence against randomness; 1 evidence; 2 wrong usage; 3 too few decks for any test;
4 unreadable input (a deck that is no permutation is named), and a log of which a check fails."""

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class DeckOptions:
    """What a command line said of decks.

    Attributes:
        sources: SOURCE as given.
        order: `rank`, `suit` or a file.
        indexes: in which order indexes count the cards.
        deck: name of the deck kind; None to take it from the sources.
        strata: dimension and label file of each `--strata`.
        by: dimensions of `--by`.
        tests: families of `--tests`, None for all.
        jobs: processes; None for one on each core.
        dask: address of a cluster that works in their place.
        keys: the logs' verifier keys; each log has the one of its origin, or the only one.
        ca: CA certificates for logs over gRPC with TLS, as a file and its bytes.
        escrow: keys that open sealed hands.
        allow_test: whether a test double's record is read.
        only_passing: whether the hands that pass are counted of a log that does not verify.
    """

    sources: tuple[str, ...]
    order: str
    indexes: str
    deck: str | None
    strata: tuple[tuple[str, Path], ...]
    by: tuple[str, ...]
    tests: tuple[str, ...] | None
    jobs: int | None
    dask: str | None
    keys: tuple[VerifierKey, ...]
    ca: tuple[str, bytes] | None
    escrow: EscrowKeys
    allow_test: bool
    only_passing: bool

    @property
    def dimensions(self) -> tuple[str, ...]:
        """All dimensions of strata, each once; seats of a log go by their number, wherever in dealing order."""
        given = [name for name, _ in self.strata]
        by = [BY_SEAT if name == "seat" and name not in given else name for name in self.by]
        return tuple(dict.fromkeys([*by, *given]))


class _Strata(click.ParamType[tuple[str, Path]]):
    """NAME=FILE."""

    name = "NAME=FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Path]:
        """Splits the name from the file, which must be there."""
        if isinstance(value, tuple):
            return value
        name, equals, file = value.partition("=")
        if not (name and equals and file):
            self.fail(f"{value}: expected NAME=FILE, such as day=days.txt", param, ctx)
        return name, Path(file)


class _Names(click.ParamType[tuple[str, ...]]):
    """Names separated by commas."""

    name = "NAME,…"

    def __init__(self, known: Callable[[], list[str]] | None = None) -> None:
        self._known = known

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """Splits at commas; names that nothing bears are refused."""
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in value.split(",") if name.strip())
        if not names:
            self.fail("no name given", param, ctx)
        if self._known is not None:
            for name in names:
                if name not in self._known():
                    self.fail(f"{name!r} is not one of: {', '.join(self._known())}", param, ctx)
        return names


only_passing_option = click.option(
    "--only-hands-that-pass",
    "only_passing",
    is_flag=True,
    help="Of a log that does not verify take the hands that no finding names, and say how many are left out.",
)


indexes_option = click.option(
    "--indexes",
    type=click.Choice(INDEXES),
    default="rank",
    show_default=True,
    help="How an array's indexes count the cards: rank by rank (2c 2d 2h 2s 3c …) or suit by suit (2c 3c 4c …).",
)


def deck_options(command: Command) -> Command:
    """Adds the options that tell which decks are counted, and how."""
    options = [
        click.argument("sources", metavar="SOURCE...", nargs=-1, required=True),
        click.option(
            "--order",
            default="rank",
            show_default=True,
            metavar="rank|suit|FILE",
            help="The order of the deck before the shuffle; a FILE lists its cards, top first.",
        ),
        indexes_option,
        click.option("--deck", type=click.Choice(sorted(DECK_KINDS)), help="The deck kind. [default: as SOURCE shows]"),
        click.option(
            "--strata",
            type=_Strata(),
            multiple=True,
            help="Labels for decks that have none of their own, one a line; tests are made by them as well.",
        ),
        click.option(
            "--by", type=_Names(), default=(), help="Dimensions to test by as well: day, table, seat, dealer, or NAME."
        ),
        click.option("--tests", type=_Names(family_names), help="Only these families of tests."),
        click.option("--jobs", type=click.IntRange(min=1), show_default="all cores", help="Processes."),
        dask_option,
        keys_option,
        ca_option,
        escrow_key_option,
        click.option("--allow-test", is_flag=True, help="Take decks from a test double's record."),
        only_passing_option,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def collected(
    sources: tuple[str, ...],
    order: str,
    indexes: str,
    deck: str | None,
    strata: tuple[tuple[str, Path], ...],
    by: tuple[str, ...],
    tests: tuple[str, ...] | None,
    jobs: int | None,
    dask: str | None,
    keys: tuple[VerifierKey, ...],
    ca: tuple[str, bytes] | None,
    escrow_key_files: tuple[tuple[str, bytes], ...],
    allow_test: bool,
    only_passing: bool,
) -> DeckOptions:
    """Returns the values of `deck_options`.

    Raises:
        click.BadParameter: `--by` names what neither a log nor `--strata` gives.
        click.UsageError: two keys of one origin.
    """
    for name in by:
        if name not in _LOG_DIMENSIONS and name not in dict(strata):
            raise click.BadParameter(
                f"{name}: decks are told apart by day, table, seat, dealer or a --strata name", param_hint="--by"
            )
    once(keys)
    escrow = escrow_keys(escrow_key_files)
    return DeckOptions(
        sources, order, indexes, deck, strata, by, tests, jobs, dask, keys, ca, escrow, allow_test, only_passing
    )


@dataclass(frozen=True)
class OpenDecks:
    """Decks to be read once.

    Attributes:
        source: the decks.
        order: (n,) the place of each card before the shuffle; None for the reference order.
        counted: to be told of decks that were read, for the bar.
        cluster: where to count them, None for here.
    """

    source: Decks
    order: Bytes | None
    counted: Callable[[int], None]
    cluster: Cluster | None


@contextmanager
def open_decks(options: DeckOptions) -> Iterator[OpenDecks]:
    """Opens the decks that a command line names, with progress bars on a terminal.

    At the end the digest of standard input is noted, if that was read.

    Raises:
        InputError: for what cannot be read.
    """
    stdin = StandardInput()
    with cluster_at(options.dask, options.jobs or cores()) as cluster, deck_bars() as bars:
        source, order = _opened(options, cluster, bars, stdin)
        try:
            yield OpenDecks(source, order, lambda decks: bars.counted(decks, source.total), cluster)
        finally:
            if stdin.was_read:
                note_input(stdin.digest())


def _opened(
    options: DeckOptions, cluster: Cluster | None, bars: DeckBars, stdin: StandardInput
) -> tuple[Decks, Bytes | None]:
    kind = deck_kind(options.sources, options.deck)
    place = read_order(options.order, kind)
    in_order = bool(np.array_equal(place, np.arange(kind.size)))
    processes = options.jobs or cores()
    verifying = Options(escrow=options.escrow, allow_test=options.allow_test, processes=processes, cluster=cluster)
    ca = None if options.ca is None else options.ca[1]
    opener = log_opener(verifying, options.keys, ca, only_passing=options.only_passing, progress=bars.verified)
    source = open_source(
        options.sources,
        kind=kind,
        indexes=options.indexes,
        strata=options.strata,
        open_log=opener,
        stdin=stdin.stream,
        compared=bars.compared,
    )
    return source, None if in_order else place


def deck_kind(sources: tuple[str, ...], name: str | None) -> DeckKind:
    """Returns the deck kind asked for, or the one of an array's width."""
    if name is not None:
        return DECK_KINDS[name]
    widths = {_array_width(source) for source in sources}
    return next((kind for kind in DECK_KINDS.values() if kind.size in widths), STANDARD52)


def _array_width(source: str) -> int | None:
    """Returns how many columns a `.npy` array has; None for anything else, which is complained of once it is read."""
    if not source.endswith(".npy"):
        return None
    try:
        array = load_array(Path(source))
    except (OSError, ValueError, EOFError):
        return None
    return int(array.shape[1]) if isinstance(array, np.ndarray) and array.ndim == 2 and len(array) else None


def understood(options: DeckOptions, source: Decks) -> tuple[str, list[str]]:
    """Returns how decks that were read were understood, and a hint if another order would explain them better."""
    if not source.samples:
        return "", []
    reading = Reading(deck_kind(options.sources, options.deck), options.indexes, options.order, source.named)
    # What can be said of indexes is not what can be said of names: each has its own hint.
    hints = [hint_of_order(decks, replace(reading, named=frozenset({by}))) for by, decks in source.samples.items()]
    return str(reading), [hint for hint in hints if hint]


def count_decks(options: DeckOptions, *, for_merging: bool = False) -> tuple[Corpus | None, Decks]:
    """Counts all decks; returns the counts and the source, read to its end."""
    with open_decks(options) as decks:
        corpus = count_source(
            decks.source,
            order=decks.order,
            names=options.tests,
            dimensions=options.dimensions,
            processes=options.jobs,
            cluster=decks.cluster,
            for_merging=for_merging,
            progress=decks.counted,
        )
    if corpus is not None:
        read_as, hints = understood(options, decks.source)
        corpus.read_as.append(read_as)
        corpus.notes += hints
    return corpus, decks.source


alpha_option = click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=1e-6,
    show_default=True,
    help="The chance of a false alarm over everything together.",
)
report_option = click.option(
    "--report", type=click.Path(dir_okay=False, path_type=Path), help="Write the whole report as one HTML file."
)
json_option = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")


def note_files(names: Iterable[str | Path]) -> None:
    """Notes the digest of each name that is a file; one that cannot be read is complained of once read as decks."""
    for name in names:
        if Path(name).is_file():
            with suppress(OSError):
                note_input(file_digest(Path(name)))


def show(result: BatteryResult, output: str, report: Path | None, reports: Sequence[Report] = ()) -> int:
    """Prints the result, writes the report, and returns the exit code.

    Args:
        result: what the battery found.
        output: `text` or `json`.
        report: where the HTML goes.
        reports: the audit of each log that was read.
    """
    about = subject(command_line(), reports, inputs(), result.alpha)
    if report is not None:
        from audit.report import stats_html  # plots need matplotlib, which a plain answer does not

        stats_html.write(result, report, about)
    if output == "json":
        from audit.report.stats_json import as_json

        print_json(as_json(result, about))
    else:
        from audit.report.stats_text import print_result

        print_result(result, console(), about)
    return EXIT_CODES[result.verdict]
