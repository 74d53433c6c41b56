"""Plays one hand: a dealer, the room's backend, three players, each in a process of its own; then the insider looks.

`hand.py [--open]`; with `--open` the players bring no keys, as before. Needs Cutcard with its extra `server`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
TOOL = str(Path(sys.executable).parent / "dealer")
FOLDS = {2: ("--fold", "fifth")}


def start(name: str, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen([sys.executable, str(HERE / name), *words], stdout=subprocess.PIPE, text=True)


def line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def play(
    folder: Path, address: str, key: str, *options: str, table: str = "table-1", way: str = ""
) -> tuple[str, list[str]]:
    """Plays a hand at the dealer of `address`, which the room reaches by `way`.

    Returns what the players said, and their files; `folder` has the room's memory.
    """
    with start("backend.py", way or address, key, table, "3", str(folder / "memory")) as backend:
        port, seats = line(backend), (1, 2, 3)
        files = {seat: str(folder / f"seat-{seat}.json") for seat in seats}
        words = {seat: (address, key, table, port, str(seat), files[seat]) for seat in seats}
        players = [start("player.py", *words[seat], *FOLDS.get(seat, ()), *options) for seat in seats]
        said = "".join(player.communicate(timeout=60)[0] for player in players)
        backend.wait(60)
    return said, list(files.values())


def main(folder: Path, *options: str) -> int:
    data = str(folder / "data")
    serve = [TOOL, "serve", "--data-dir", data, "--dev", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as dealer:
        try:
            address = line(dealer).removeprefix("listening on ")
            key = subprocess.run([TOOL, "key", "--data-dir", data], capture_output=True, text=True, check=True)
            said, files = play(folder, address, key.stdout.strip(), *options)
        finally:
            dealer.terminate()
    print(said, end="", flush=True)
    looked = [sys.executable, str(HERE / "insider.py"), str(folder / "memory"), *files]
    return subprocess.run(looked, check=False).returncode


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="cutcard-sealed-") as place:
        sys.exit(main(Path(place), *sys.argv[1:]))
