"""Holds the generated code of `dealer/v1` against `proto/`: `python -m tests.generated [--write]`."""

import filecmp
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "proto"
OUT = Path("dealer/v1")


def generate(target: Path) -> None:
    """Runs protoc with the Python, gRPC and stub plugins, so that `target/dealer/v1` is made from `proto/`."""
    bin_dir = Path(sys.executable).parent
    include = Path(str(importlib.util.find_spec("grpc_tools").submodule_search_locations[0])) / "_proto"  # type: ignore[union-attr, index]
    protos = sorted(str(p.relative_to(PROTO)) for p in PROTO.rglob("*.proto"))
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"-I{include}"]
    command += [f"--{plugin}_out={target}" for plugin in ("python", "grpc_python", "mypy", "mypy_grpc")]
    path = f"{bin_dir}{os.pathsep}{os.environ.get('PATH', '')}"
    subprocess.run(command + protos, check=True, cwd=PROTO, env={**os.environ, "PATH": path})


def main() -> int:
    """Writes the code anew with `--write`; otherwise says what is stale and returns 1 if anything is."""
    if "--write" in sys.argv:
        generate(ROOT)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh = {p.name for p in (Path(folder) / OUT).iterdir()}
        committed = {p.name for p in (ROOT / OUT).glob("*_pb2*")}
        stale = {n for n in fresh & committed if not filecmp.cmp(Path(folder) / OUT / n, ROOT / OUT / n, shallow=False)}
        for name in sorted(stale | (fresh ^ committed)):
            print(f"{OUT / name} is not what proto/ makes: run `make generate`", file=sys.stderr)
        return 1 if stale or fresh != committed else 0


if __name__ == "__main__":
    sys.exit(main())
