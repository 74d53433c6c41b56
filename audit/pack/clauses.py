"""What regulators ask, what of it the product does, and by which tests and records anybody can follow that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Status = Literal["fulfilled", "partly", "not", "not applicable"]

NAMES = (
    "547.14", "gli-19", "ukgc", "agco", "nj", "pa", "mich", "oregon", "oklahoma", "denmark", "ecogra", "itech",
)  # fmt: skip
"""The sources, as `--for` names them."""


@dataclass(frozen=True)
class Clause:
    """One row of docs/clauses.md, with what stands behind its evidence.

    Attributes:
        clause: source and number, as the page has it.
        source: of each source whether its own `text` or a `paraphrase` of it was read, as the page has it.
        asks: what it asks.
        evidence: ours, as the page has it.
        names: the sources that it belongs to.
        status: what is fulfilled if the log bears it out; a log that does not can only lower it.
        reason: why it is this status, for what is `partly` what is missing.
        tests: ids for pytest, of this version's source.
        records: names of what a log shows of it, `audit.pack.records`.
    """

    clause: str
    source: str
    asks: str
    evidence: str
    names: tuple[str, ...]
    status: Status
    reason: str
    tests: tuple[str, ...]
    records: tuple[str, ...]

    @property
    def paraphrased(self) -> bool:
        """Whether any of it has to be checked against the original."""
        return "paraphrase" in self.source


def chosen(names: Iterable[str]) -> tuple[Clause, ...]:
    """Returns the clauses of some sources; `all` stands for every one."""
    wanted = set(names)
    return tuple(clause for clause in CLAUSES if "all" in wanted or wanted & set(clause.names))


_NULLS = "tests/unit/stats/families/test_nulls.py"
_POWER = "tests/unit/stats/judging/test_power.py"
_VIEWS = "tests/unit/stats/judging/test_views.py"
_VECTORS = "tests/vectors/test_hands.py"
_WORDS = "tests/unit/core/test_words.py"
_ARGUMENTS = "tests/unit/core/test_shuffle_arguments.py"
_AT_REST = "tests/integration/test_at_rest.py"
_SOURCE = "tests/integration/test_entropy_source.py"
_HEALTH = "tests/unit/core/test_health_tests.py"
_KILLS = "tests/integration/test_kill.py"
_DEALING = "tests/attacks/test_dealing_attacks.py"
_ACROSS = "tests/attacks/test_several_logs.py"
_LOST = "tests/integration/test_lost_hands.py"
_RANDOMNESS = "tests/unit/test_randomness.py"
_MONITOR = "tests/integration/test_monitor.py"
_DIGEST = "tests/unit/audit/report/test_subject.py"
_BITS = "tests/unit/stats/test_bits.py"

CLAUSES: tuple[Clause, ...] = (
    Clause(
        "25 CFR 547.14(a), (b)(1)",
        "text",
        "random, unpredictable, non-repeating; also in the combinations used in the game",
        "families third street, showdowns, paired hole cards, five-card hands",
        ("547.14",),
        "fulfilled",
        "The combinations of stud are tested as they are dealt, beside single cards.",
        (_NULLS, _POWER),
        ("battery", "families:third street,showdowns,paired hole cards,five-card hands"),
    ),
    Clause(
        "25 CFR 547.14(b)(2)",
        "text",
        "99 %: chi-square, runs, serial correlation, equidistribution, gap, poker, coupon collector, permutation, "
        'spectral, subsequences ("may include")',
        "the battery, by these names (view)",
        ("547.14",),
        "fulfilled",
        "All ten are made. The battery's own verdict, at its own alpha, decides; at 99 % each, one fair room in ten "
        "fails one of ten.",
        (_VIEWS, _NULLS),
        ("battery", "view:547.14"),
    ),
    Clause(
        "25 CFR 547.14(c)(1)-(3)",
        "text",
        "not predictable though algorithm and past are known; reseed or cycle; reseeding independent",
        "a fresh 512-bit seed a hand; PROTOCOL 3; at-rest tests",
        ("547.14",),
        "fulfilled",
        "Each hand has a seed of its own, and no seed follows from another. That the operating system's generator is "
        "good is tested at each draw, and its raw output can be taken with `dealer entropy`.",
        (_VECTORS, _AT_REST, _SOURCE),
        ("checks:seed,deck",),
    ),
    Clause(
        "25 CFR 547.14(d)",
        "text",
        "no two instances give the same stream",
        "a seed seen twice is a finding, within a log and across the logs given",
        ("547.14",),
        "partly",
        "Within this log every seed was compared with every other. Across instances only logs that are given together "
        "are compared: `audit verify LOG LOG …` with each log of the operator.",
        (_ACROSS, _SOURCE),
        ("checks:seed",),
    ),
    Clause(
        "25 CFR 547.14(e), (f)",
        "paraphrase",
        "used in order, none discarded but to fit the range; bias at most 1 in 50 million",
        "refused words and vectors; count of refused words; bias 0 by construction",
        ("547.14",),
        "fulfilled",
        "Words go to swaps in order; one at or above the greatest multiple of the range is refused, so the bias is 0.",
        (_VECTORS, _WORDS),
        ("checks:deck", "refused"),
    ),
    Clause(
        "GLI-19 v3.0, 3.2.1",
        "paraphrase",
        "the laboratory reads the source of RNG, scaling and shuffle",
        "list of files, lines, digests; trust base",
        ("gli-19",),
        "partly",
        "The reading is the laboratory's. What to read, with lines and digests, is listed for it in raw/files.csv.",
        (_DIGEST,),
        ("code", "files"),
    ),
    Clause(
        "GLI-19 3.2.2",
        "paraphrase",
        "total distribution, overlaps, coupon collector, runs, interplay, serial correlation, duplicates; 99 % "
        "collectively",
        "the battery, by these names (view), two-sided",
        ("gli-19",),
        "fulfilled",
        "All seven are made, two-sided, at 99 % collectively. The battery's own verdict decides; one fair room in a "
        "hundred fails this view.",
        (_VIEWS, _NULLS),
        ("battery", "view:gli-19"),
    ),
    Clause(
        "GLI-19 3.2.3-3.2.5",
        "paraphrase",
        "equally likely; independent within and between draws; all outcomes on every draw",
        "vectors, between decks, 2^512 > 52! (2^225.6)",
        ("gli-19",),
        "fulfilled",
        "The shuffle is uniform for a uniform seed, of which there are more than orders of a deck.",
        (_VECTORS, _NULLS),
        ("checks:deck", "families:between decks,card x position,duplicates"),
    ),
    Clause(
        "GLI-19 3.3.1, 3.3.2(a)-(c)",
        "paraphrase",
        "cryptographic; not seeded from a clock alone; state compromise limited by external entropy",
        "one seed a hand: what a thief of state learns lasts one hand; contributions, and a written answer on players' "
        "input",
        ("gli-19",),
        "partly",
        "What a thief of the dealer's state learns ends with the hands in play. External entropy goes into a deck only "
        "if the room invites contributors; hands without any are counted here.",
        (_AT_REST, "tests/integration/test_entropy.py"),
        ("contributions",),
    ),
    Clause(
        "GLI-19 3.3.3; AGCO 21.1.9; eCOGRA's live monitoring",
        "paraphrase; text; text",
        "monitor the source, stop when it fails",
        "health tests, refusal, alarms",
        ("gli-19", "agco", "ecogra"),
        "partly",
        "The dealer tests its source at each draw and opens no hand while it fails. A log cannot show the alarms that "
        "did not end a hand: look at `dealer status` and the metric cutcard_entropy_failures_total.",
        (_HEALTH, _SOURCE),
        ("voids",),
    ),
    Clause(
        "GLI-19 4.5.2(a)-(f); UKGC RTS 7A, 7B; AGCO 4.26(2), (4)",
        "paraphrase; text; text",
        "nothing but the RNG decides; no adaptive or secondary decision, not by stake, play, load or channel",
        "the shuffle takes seed, entropy, deck kind alone (pinned by a test); `dealing`",
        ("gli-19", "ukgc", "agco"),
        "fulfilled",
        "The deck is a function of the seed, the entropy digest, the hand's id and the deck kind, and was derived "
        "again from them for each hand.",
        (_ARGUMENTS, _DEALING),
        ("checks:deck,dealing",),
    ),
    Clause(
        "GLI-19 4.4.4; Oregon OAR 177-200-0070; Oklahoma 325:85-15-50(9)",
        "paraphrase; text; text",
        "deck frozen after the shuffle, from the top, no return, needed cards kept over a failure",
        "commitment before the first card; `dealing`; kills",
        ("gli-19", "oregon", "oklahoma"),
        "fulfilled",
        "The commitment stands in the log before the first card, and every event was replayed against it.",
        (_DEALING, _KILLS),
        ("checks:deck,dealing,lifecycle",),
    ),
    Clause(
        "GLI-19 4.14.1, 4.16, 2.8.1; Mich. R 432.636(1), (4)",
        "paraphrase; text",
        "recall; interrupted games; query and export in the regulator's format; a separate copy of what is logged",
        "log, PHH, repeats; CSV; mirror, monitor",
        ("gli-19", "mich"),
        "partly",
        "Any hand can be recalled, repeated and exported as PHH, JSON and CSV; a regulator's own format has to be made "
        "from these. The separate copy is whatever mirrors the log, and `audit monitor` if somebody runs it.",
        ("tests/integration/test_repeats.py", "tests/unit/table/test_histories.py", _MONITOR),
        ("hands", "tree"),
    ),
    Clause(
        "GLI-19 2.3.2; N.J.A.C. 13:69O-1.5(c)-(d); iTech monitoring",
        "paraphrase; text; text",
        "software authenticated on demand and every 24 hours",
        "code digest in `status`, pack and start line",
        ("gli-19", "nj", "itech"),
        "partly",
        "The digest is given on demand, by `dealer status` and here. That somebody asks for it every 24 hours is for "
        "the room to arrange.",
        (_DIGEST, "tests/integration/test_operator.py::test_status_tells_version_digest_log_and_use"),
        ("code",),
    ),
    Clause(
        "UKGC RTS 7A",
        "text",
        "acceptably random by generally accepted tests; uniform, unpredictable, no cycle or synchrony, seeding, "
        "scaling",
        "battery, power, protocol",
        ("ukgc",),
        "fulfilled",
        "The battery's power is measured on a gallery of crooked shuffles, and its report says what it could not see.",
        (_NULLS, _POWER, _VECTORS),
        ("battery", "checks:seed,deck"),
    ),
    Clause(
        "UKGC testing strategy 3",
        "text",
        "documents; known weaknesses; source against documents; statistics of raw output and of shuffled decks; issues "
        "re-tested",
        "docs; `bits`, `stats`, raw output of the production path",
        ("ukgc",),
        "partly",
        "Statistics of the decks are here, and raw/ has the decks and their bits. The raw output of the source has to "
        "be taken where the dealer runs: raw/README.txt says how.",
        (_BITS, _NULLS, _RANDOMNESS),
        ("battery", "raw"),
    ),
    Clause(
        "AGCO Internet 4.26(1)-(5), 4.27",
        "text",
        "seeding without correlation to other instances; failure found quickly; mechanism can be monitored and "
        "inspected",
        "seeds across logs; metrics; log",
        ("agco",),
        "partly",
        "Seeds are compared within this log; across instances only if their logs are given together to `audit verify`.",
        (_ACROSS, _SOURCE, _MONITOR),
        ("checks:seed", "tree"),
    ),
    Clause(
        "AGCO 21.1.1-21.1.10; ELS 5.1.1-5.1.9",
        "text",
        "99 % interval; selection kept over interruption; seeds not determinable, re-initialised; secure transport; "
        "pools stored securely",
        "battery; kills; at rest; TLS",
        ("agco",),
        "partly",
        "Statistics, kills and keys at rest are shown. Secure transport depends on how this dealer is run, which a log "
        "does not show.",
        (_VIEWS, _KILLS, _AT_REST, "tests/integration/test_access.py::test_tls_1_2_is_refused_before_anything_else"),
        ("battery", "hands"),
    ),
    Clause(
        "AGCO 9.1.1",
        "text",
        "every RNG call accounted for; no code that bypasses",
        "table of all places that ask for random bytes",
        ("agco",),
        "fulfilled",
        "docs/randomness.md lists every place that asks for random bytes; a test parses the source and holds the list.",
        (_RANDOMNESS, _SOURCE + "::test_no_global_generator_is_near_a_deck"),
        ("code", "checks:deck"),
    ),
    Clause(
        "N.J.A.C. 13:69E-1.28G(b)1-6, (c)1-3",
        "text",
        "all outcomes; cycles in the background; seed by an uncontrolled event; uniform rescaling; no secondary "
        "selection",
        "a fresh seed for each hand in place of cycling (547.14(c)(2) accepts it): written answer",
        ("nj",),
        "partly",
        "Nothing is cycled in the background, since nothing is kept between hands: each hand has a fresh seed, which "
        "25 CFR 547.14(c)(2) accepts in its place. New Jersey's own word on it has to be asked for.",
        (_VECTORS, _WORDS, _ARGUMENTS),
        ("checks:seed,deck", "refused"),
    ),
    Clause(
        "N.J.A.C. 13:69O-1.5(a)4; AGCO 4.21",
        "text",
        "recovers to the state before an outage; void or pay as is better for the player",
        "kills; void and lost hands counted",
        ("nj", "agco"),
        "partly",
        "A hand goes on after an outage where it was, and void and lost hands are counted. Whether a void hand is paid "
        "is the room's decision, which no log of the dealer shows.",
        (_KILLS, _LOST),
        ("hands", "voids"),
    ),
    Clause(
        "58 Pa. Code 810a.5(a)-(d)",
        "text",
        "cryptographically strong; each instance evaluated; 15 tests at 95 % (Kolmogorov-Smirnov, order statistics, "
        "Poisson, adjacency …)",
        "battery by these names (view); instance in the pack",
        ("pa",),
        "fulfilled",
        "All fifteen are made for this one instance. The battery's own verdict decides; at 95 % each, every second "
        "fair room fails one of fifteen.",
        (_VIEWS, _NULLS, _VECTORS),
        ("battery", "view:pa", "tree"),
    ),
    Clause(
        "Denmark SCP.01.03",
        "text",
        "suppliers hold their own certificate; RNG and game certificates go to a register",
        "the pack names one product, version, digest",
        ("denmark",),
        "not",
        "A certificate is a laboratory's to give, and a pack is none. It names the one product, version and digest "
        "that a certificate would be for.",
        (_DIGEST,),
        ("code",),
    ),
)
