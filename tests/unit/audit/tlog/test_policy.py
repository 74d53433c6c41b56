"""Policy files: what is refused and in which line, large ones, nested groups, and the quorum's time."""

from __future__ import annotations

import itertools

import pytest

from audit.errors import FormatError
from audit.tlog.cosignature import WitnessKey
from audit.tlog.policy import parse
from tests.attacks.cosigning import ONE, Cosigner, policy_text
from tests.attacks.maker import Signer

LOG = Signer().verifier


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quorum none\nquorum none\n", "line 2 .* already"),
        ("quorum nobody\n", "line 1 .* no witness and no group"),
        ("\n# a comment\n\nlog nonsense\nquorum none\n", "line 4 .* not a verifier key"),
        ("log\nquorum none\n", "line 1 .* expected `log"),
        (f"witness w {ONE.key} http://a b\nquorum w\n", "line 1 .* expected `witness"),
        (f"witness w {ONE.key}\ngroup g 01 w\nquorum g\n", "line 2 .* expected a number from 1 to 1"),
        (f"witness w {ONE.key}\ngroup g 1 w w\nquorum g\n", "line 2 .* a member already"),
        (f"witness w {ONE.key}\ngroup g 1 g\nquorum g\n", "line 2"),
        (f"witness w {ONE.key}\ngroup g 1 none\nquorum g\n", "line 2"),
        (f"witness w {ONE.key}\nquorum w\x1b\n", "line 2 .* control character"),
        (f"log {LOG}\nlog {LOG}\nquorum none\n", "line 2 .* same public key"),
        (f"log {LOG}\nwitness w {WitnessKey.of('w.example', LOG.public)}\nquorum w\n", "line 2 .* same public key"),
        ("", "no `quorum` line"),
        ("quorum none\n\xff", "UTF-8"),
    ],
)
def test_what_is_refused_and_where(text: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        parse(text.encode("latin-1"))


def test_large_and_deep_policies_are_taken() -> None:
    lines = [f"log {Signer(f'{n}.example', bytes([n]) * 32).verifier}" for n in range(1, 40)]
    lines += [f"witness w{n} {Cosigner(f'w{n}').key}" for n in range(40)]
    lines += ["group g0 any w0", *(f"group g{n} all g{n - 1}" for n in range(1, 3000)), "quorum g2999"]
    policy = parse("\n".join(lines).encode())
    assert (len(policy.logs), len(policy.witnesses), len(policy.groups)) == (39, 40, 3000)
    assert policy.time({"w0": 7}) == 7
    assert policy.time({"w1": 7}) is None
    assert policy.quorum_witnesses() == ["w0"]


def test_the_quorums_time_is_the_greatest_that_still_makes_it() -> None:
    policy = parse(
        policy_text([LOG])
        .replace("group g 2 one two three\nquorum g", "group a any one two\ngroup b all a three\nquorum b")
        .encode()
    )
    names = ("one", "two", "three")
    for times in itertools.product((None, 1, 2, 3), repeat=3):
        cosigned = {name: time for name, time in zip(names, times, strict=True) if time is not None}
        by_then = {since: {name for name, time in cosigned.items() if time >= since} for since in (1, 2, 3)}
        holding = [since for since, made in by_then.items() if made & {"one", "two"} and "three" in made]
        assert policy.time(cosigned) == max(holding, default=None)
        asked, there = policy.counts(cosigned)
        assert asked == 2
        assert there == ("three" in cosigned) + bool({"one", "two"} & set(cosigned))
