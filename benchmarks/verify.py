"""`audit verify` in hands a second, beside the bare hashing that it cannot do without, and on two processes."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time

from audit import protocol
from audit.logs.folder import FolderLog
from audit.record.entries import Close, Commit
from audit.record.reading import parse
from audit.tlog.merkle import leaf_hash
from audit.tlog.tiles import WIDTH
from audit.whole.verify import Options, verify
from benchmarks.rounds import medians
from benchmarks.row import Row
from tests.attacks.maker import Book, many

HANDS = 4_000
TABLES = 20
MORE = 10
"""How many times as many hands the comparison of one process with two has: a long log, as an auditor meets it."""
ROUNDS = 5
LONG_ROUNDS = 3

FLOOR = 1 / 3.5
TWICE = 1.8


def rows() -> list[Row]:
    """One process against the floor, two against one; the log is six-handed stud at twenty tables with folds."""
    book = many(HANDS, TABLES)
    with tempfile.TemporaryDirectory() as folder:
        short = book.write(Path(folder) / "short")
        long = many(MORE * HANDS, TABLES).write(Path(folder) / "long")
        # Processor time: what one process does beside its hashing, however busy the machine is.
        audit = _audit(short, Options(book.signer.verifier), HANDS, process_time)
        ours, floor = medians(audit, _floor(book), rounds=ROUNDS)
        one, two = medians(
            _audit(long, Options(book.signer.verifier), MORE * HANDS, perf_counter),
            _audit(long, Options(book.signer.verifier, processes=2), MORE * HANDS, perf_counter),
            rounds=LONG_ROUNDS,
        )
    return [
        Row.of("audit verify, one process, against its bare hashing", ours, floor, "hands/s", FLOOR),
        Row.of("audit verify, two processes, against one", two, one, "hands/s", TWICE),
    ]


def _audit(folder: Path, options: Options, hands: int, clock: Callable[[], float]) -> Callable[[], float]:
    """Audits a log; hands a second."""

    def measure() -> float:
        start = clock()
        report = verify(FolderLog(folder), options)
        taken = clock() - start
        if (report.verdict, report.hands.total) != ("valid", hands):
            raise AssertionError(f"the log was not audited whole: {report.verdict}, {report.hands.total} hands")
        return hands / taken

    return measure


def _floor(book: Book) -> Callable[[], float]:
    """The SHA-256 and SHAKE256 calls of the same audit on inputs that are ready, and nothing else; hands a second."""
    sha, shake = _inputs(book.raws())

    def measure() -> float:
        sha256, shake_256 = hashlib.sha256, hashlib.shake_256
        start = process_time()
        for data in sha:
            sha256(data).digest()
        for data, length in shake:
            shake_256(data).digest(length)
        return HANDS / (process_time() - start)

    return measure


def _inputs(raws: list[bytes]) -> tuple[list[bytes], list[tuple[bytes, int]]]:
    sha = [b"\0" + raw for raw in raws]
    hashes = [leaf_hash(raw) for raw in raws]
    # A tree of n leaves has n - 1 inner nodes, whatever its shape.
    sha += [b"\1" + hashes[i % WIDTH] + hashes[i] for i in range(1, len(hashes))]
    shake = []
    entries = [parse(raw) for raw in raws]
    for close in entries:
        if not isinstance(close, Close) or close.seed is None or close.commit is None:
            continue
        commit = entries[close.commit]
        assert isinstance(commit, Commit)
        hand = commit.hand
        source = protocol.material(hand, commit.entropy_digest, close.seed)
        deck = protocol.shuffle(protocol.DECKS[commit.deck], source)
        salts = protocol.salts(source, len(deck))
        shake += [(protocol.tag("shuffle") + source, 136), (protocol.tag("salts") + source, len(salts))]
        sha.append(protocol.tag("seed") + hand + close.seed)
        sha.append(protocol.entropy_preimage(hand, commit.contributions))
        sha += [protocol.card_preimage(hand, p, card, salts[32 * p : 32 * p + 32]) for p, card in enumerate(deck)]
        sha.append(protocol.deck_preimage(hand, protocol.card_commitments(hand, deck, salts)))
    return sha, shake
