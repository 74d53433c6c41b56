"""Changes the code a little at a time and asks its own tests whether they notice: `python -m tests.mutants PACKAGE…`.

Each package is tried in a copy below `build/mutants/`, by mutmut, against the tests that are its own. What survives is
printed; docs/simulation.md says of each why. It takes hours: `make mutants` is a target of its own.
"""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "mutants"
# Not `test_shuffle_arguments`, which looks into functions that mutmut has wrapped.
TESTS: dict[str, list[str]] = {
    "dealer/core": [
        "tests/unit/core/test_hand.py",
        "tests/unit/core/test_health_tests.py",
        "tests/unit/core/test_history.py",
        "tests/unit/core/test_words.py",
        "tests/vectors/test_hands.py",
        "tests/property/test_entries_written.py",
        "tests/simulation/test_seeds.py::test_a_seed_that_found_something_finds_it_no_more",
    ],
    "dealer/log": ["tests/unit/log", "tests/vectors/test_log_foreign.py", "tests/vectors/test_log_own.py"],
    "dealer/table": ["tests/unit/table", "tests/property/test_table_payouts.py", "tests/property/test_table_play.py"],
    "audit/hand": ["tests/attacks", "tests/vectors/test_audit_vectors.py"],
    "audit/tlog": [
        "tests/unit/audit/tlog",
        "tests/attacks",
        "tests/vectors/test_audit_vectors.py",
        "tests/vectors/test_witness_vectors.py",
        "tests/property/test_audit_trees.py",
    ],
}
_COPIED = ("dealer", "audit", "tests", "docs", "proto", "simulation", "benchmarks", "examples")
_OPTIONS = ["-p", "no:randomly", "-p", "no:cacheprovider", "-x", "-q"]


def copy_for(package: str) -> Path:
    """Makes the copy in which a package is tried."""
    folder = BUILD / package.replace("/", "-")
    shutil.rmtree(folder, ignore_errors=True)
    for name in _COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    settings = {
        "source_paths": [package.partition("/")[0]],
        "only_mutate": [f"{package}/*"],
        "also_copy": [name for name in _COPIED if name != package.partition("/")[0]],
        "pytest_add_cli_args": _OPTIONS,
        "pytest_add_cli_args_test_selection": TESTS[package],
    }
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    ours = (ROOT / "pyproject.toml").read_text("utf-8")
    (folder / "pyproject.toml").write_text(f"{ours}\n[tool.mutmut]\n{lines}", "utf-8")
    return folder


def try_out(package: str) -> tuple[Counter[str], list[str]]:
    """Tries a package's mutants, and returns how many ended in which way, and the names of those that live."""
    folder, tool = copy_for(package), str(Path(sys.executable).with_name("mutmut"))
    subprocess.run([tool, "run"], cwd=folder, check=False)
    said = subprocess.run([tool, "results", "--all", "true"], cwd=folder, capture_output=True, text=True, check=True)
    ended = [line.strip().partition(": ") for line in said.stdout.splitlines() if ": " in line]
    return Counter(how for _, _, how in ended), [name for name, _, how in ended if how == "survived"]


def main(packages: list[str]) -> int:
    """Tries the packages that are named, or all of them."""
    for package in packages or TESTS:
        ended, living = try_out(package)
        print(f"{package}: {dict(ended)}", *living, sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
