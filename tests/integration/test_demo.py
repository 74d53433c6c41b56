"""`make demo`, as a newcomer sees it."""

from tests.integration.running import run_tool


def test_the_demonstration_deals_audits_and_refuses_a_forgery() -> None:
    done = run_tool("dealer", "demo")
    assert done.returncode == 0, done.stderr
    for said in (
        "seat",
        "brings in with the lowest card",
        "opens with the highest hand showing",
        "one card to the board",
        "folds",
        "void, as a misdeal",
        "VALID  ",
        "INVALID  ",
        "north answers 422",
        "south answers 422",
        "ok    witness      2 of 2 (north, south), since 20",
        "cosignatures: 0 of the 2 that the policy asks",
    ):
        assert said in done.stdout
    forged = done.stdout[done.stdout.index("Somebody changes one card") :]
    hand = forged.split("hand ")[1][:36]
    assert f"hand {hand}" in forged[forged.index("Findings") :]
    forks = [line for line in done.stdout.splitlines() if "a fork, both notes stand below" in line]
    assert [line.split(":")[0].strip() for line in forks] == ["north", "south"]


def test_the_demonstration_over_tls_hides_a_hand_from_another_room_and_has_an_operator_void_it() -> None:
    done = run_tool("dealer", "demo", "--tls")
    assert done.returncode == 0, done.stderr
    for said in ("every card checked", "NOT_FOUND: there is no such hand", "is void", "VALID  "):
        assert said in done.stdout
