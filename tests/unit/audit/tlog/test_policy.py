"""Policy files: what is refused and in which line, large ones, nested groups, and the quorum's time."""

from __future__ import annotations

import itertools

import pytest

from audit.errors import FormatError
from audit.tlog.cosignature import WitnessKey
from audit.tlog.note import decode
from audit.tlog.policy import parse
from tests.attacks.cosigning import ONE, TWO, Cosigner, policy_text
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
        (f"log {LOG} http://a b\nquorum none\n", "line 1 .* expected `log"),
        ("quorum none none\n", "line 1 .* expected `quorum"),
        (f"witness w {ONE.key}\nwitness w {TWO.key}\nquorum w\n", "line 2 .* the name 'w' is taken"),
        (f"witness w {ONE.key}\ngroup w any w\nquorum w\n", "line 2 .* the name 'w' is taken"),
        (f"witness w {ONE.key}\ngroup g any w\ngroup g any g\nquorum g\n", "line 3 .* the name 'g' is taken"),
        ("witness w a+b\nquorum w\n", r"line 1 .* not a verifier key \(name"),
        (f"witness w {LOG}\nquorum w\n", "line 1 .* a witness's key"),
        (f"log {ONE.key}\nquorum none\n", "line 1 .* an Ed25519 verifier key"),
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


def test_what_the_lines_say_is_kept() -> None:
    lines = [f"witness a {ONE.key} http://one.example/", f"witness b {TWO.key}", "group g 2 a b", "quorum g"]
    policy = parse("\n".join(lines).encode())
    assert [policy.witnesses[name].url for name in "ab"] == ["http://one.example/", None]
    assert (policy.groups["g"].needed, policy.quorum_witnesses()) == (2, ["a", "b"])
    nested = parse("\n".join([*lines[:2], "group g any a", "group h all g b", "quorum h"]).encode())
    assert nested.quorum_witnesses() == ["a", "b"]


def test_the_quorum_none_asks_for_nothing_and_always_holds() -> None:
    policy = parse(f"witness w {ONE.key}\nquorum none\n".encode())
    assert (policy.time({}), policy.counts({}), policy.quorum_witnesses()) == (0, (0, 0), [])


def test_the_key_of_a_log_is_the_one_that_signed_or_is_named_or_stands_first() -> None:
    signers = [Signer(f"{name}.example", name.encode() * 32) for name in "abc"]
    keys = [signer.verifier for signer in signers]
    policy = parse("".join([*(f"log {key}\n" for key in keys), "quorum none\n"]).encode())
    signed = decode(signers[2].checkpoint([b"entry"]))
    assert policy.log_key(None) == keys[0]
    assert policy.log_key(signed) == keys[2]
    assert policy.log_key(signed._replace(text=signed.text.replace("c.example", "b.example"))) == keys[2]
    assert policy.log_key(signed._replace(signatures=(), text=signed.text.replace("c.", "b."))) == keys[1]
    assert policy.log_key(signed._replace(signatures=(), text="elsewhere\n")) == keys[0]
    assert parse(b"quorum none\n").log_key(None) is None
    assert parse(b"quorum none\n").log_key(signed) is None


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
