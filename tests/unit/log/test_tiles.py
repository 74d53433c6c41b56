"""The static log: its files, byte for byte, and that no moment of writing them shows a reader a contradiction."""

import base64
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from dealer.log import tiles
from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.errors import PublishError
from dealer.log.note import NoteSigner
from dealer.log.tiles import bundle, bundle_path, publish, published_checkpoint, tile_path
from tests.unit.log.naive import KeptNodes, tree_hash

SIGNER = NoteSigner("log.example/room", Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
KEPT = KeptNodes([b"entry %d" % number for number in range(600)])


def note(size: int, kept: KeptNodes = KEPT, signer: NoteSigner = SIGNER) -> str:
    return sign_checkpoint(Checkpoint(signer.name, size, root(size, kept)), signer)


def root(size: int, kept: KeptNodes = KEPT) -> bytes:
    return tiles.CompactRange.load(size, kept.read).root()


def bring_up(out: Path, previous: int, size: int, kept: KeptNodes = KEPT, signer: NoteSigner = SIGNER) -> None:
    publish(out, previous, size, note(size, kept, signer), kept.read, kept.read_entries)


def files(out: Path) -> dict[str, bytes]:
    return {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def read_like_a_stranger(out: Path) -> int:
    """Follows c2sp.org/tlog-tiles from the checkpoint down, and holds that everything it needs is there and right."""
    if not (out / "checkpoint").exists():
        return 0
    origin, size_line, encoded_root = (out / "checkpoint").read_text().split("\n")[:3]
    size = int(size_line)
    assert origin == SIGNER.name

    def tile(name: str, width: int) -> bytes:
        """The partial file, or where that has gone the prefix of the full one."""
        try:
            return (out / (f"{name}.p/{width}" if width < 256 else name)).read_bytes()
        except FileNotFoundError:
            return (out / name).read_bytes()

    leaves: list[bytes] = []
    for number in range((size + 255) // 256):
        width = min(256, size - 256 * number)
        name = f"{number % 1000:03d}" if number < 1000 else f"x{number // 1000:03d}/{number % 1000:03d}"
        data, entries = tile(f"tile/entries/{name}", width), []
        while data and len(entries) < width:
            end = 2 + int.from_bytes(data[:2], "big")
            entries.append(data[2:end])
            data = data[end:]
        assert len(entries) == width
        hashes = tile(f"tile/0/{name}", width)
        assert [sha256(b"\x00" + entry).digest() for entry in entries] == [
            hashes[32 * place : 32 * place + 32] for place in range(width)
        ]
        leaves += entries
    assert base64.b64encode(tree_hash(leaves)).decode() == encoded_root
    level, count = 1, size // 256
    while count:
        for number in range((count + 255) // 256):
            width = min(256, count - 256 * number)
            expected = b"".join(
                tree_hash(leaves[place * 256**level : (place + 1) * 256**level])
                for place in range(256 * number, 256 * number + width)
            )
            assert tile(f"tile/{level}/{number:03d}", width)[: 32 * width] == expected
        level, count = level + 1, count // 256
    return size


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "000"),
        (7, "007"),
        (999, "999"),
        (1000, "x001/000"),
        (1234067, "x001/x234/067"),
        (10**9, "x001/x000/x000/000"),
    ],
)
def test_a_number_is_written_in_groups_of_three(number: int, text: str) -> None:
    assert tile_path(2, number) == f"tile/2/{text}"
    assert bundle_path(number) == f"tile/entries/{text}"
    assert tile_path(0, number, 1) == f"tile/0/{text}.p/1"
    assert bundle_path(number, 255) == f"tile/entries/{text}.p/255"


def test_a_bundle_gives_each_entry_after_its_length() -> None:
    assert bundle([b"ab", b"", b"c" * 65_535]) == b"\x00\x02ab\x00\x00\xff\xff" + b"c" * 65_535
    with pytest.raises(PublishError, match="65536 bytes"):
        bundle([b"c" * 65_536])


@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 511, 512, 600])
def test_a_reader_finds_the_whole_log_and_nothing_besides(tmp_path: Path, size: int) -> None:
    out = tmp_path / "made" / "log"
    bring_up(out, 0, size)
    assert read_like_a_stranger(out) == size
    expected = {"checkpoint"}
    level, count = 0, size
    while count:
        widths = [(number, 256) for number in range(count // 256)]
        widths += [(count // 256, count % 256)] if count % 256 else []
        expected |= {tile_path(level, number, width) for number, width in widths}
        expected |= {bundle_path(number, width) for number, width in widths} if level == 0 else set()
        level, count = level + 1, count // 256
    assert set(files(out)) == expected
    assert (out / "checkpoint").read_text() == note(size)


def test_a_log_of_256_entries_has_one_full_tile_and_one_of_width_1_above_it(tmp_path: Path) -> None:
    bring_up(tmp_path, 0, 256)
    assert set(files(tmp_path)) == {"checkpoint", "tile/0/000", "tile/1/000.p/1", "tile/entries/000"}


def test_a_log_of_more_than_256_tiles_has_three_levels(tmp_path: Path) -> None:
    great = KeptNodes([b"%d" % number for number in range(70_000)])
    bring_up(tmp_path, 0, 70_000, great)
    shown = files(tmp_path)
    assert shown["tile/2/000.p/1"] == tree_hash(great.entries[:65_536])
    assert len(shown["tile/1/000"]) == 256 * 32
    assert len(shown["tile/1/001.p/17"]) == 17 * 32
    assert len(shown["tile/0/273.p/112"]) == 112 * 32
    assert len(shown) == 1 + 2 * 274 + 2 + 1


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(0, 600), min_size=1, max_size=6), st.data())
def test_step_by_step_ends_with_the_files_of_one_step(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], data: st.DataObject
) -> None:
    out, once = tmp_path_factory.mktemp("steps"), tmp_path_factory.mktemp("once")
    sizes.sort()
    previous = 0
    for size in sizes:
        bring_up(out, data.draw(st.sampled_from([0, previous, size, 10**6])), size)
        assert read_like_a_stranger(out) == size
        previous = size
    bring_up(once, 0, sizes[-1])
    extra = set(files(out)) - set(files(once))
    assert files(once).items() <= files(out).items()
    assert all(".p/" in name for name in extra), "what is left over is partial tiles of older sizes alone"


def test_partial_files_go_once_the_full_one_is_there(tmp_path: Path) -> None:
    bring_up(tmp_path, 0, 200)
    bring_up(tmp_path, 200, 250)
    assert {"tile/0/000.p/200", "tile/0/000.p/250", "tile/entries/000.p/200"} <= set(files(tmp_path))
    bring_up(tmp_path, 250, 300)
    assert not (tmp_path / "tile/0/000.p").exists()
    assert not (tmp_path / "tile/entries/000.p").exists()
    assert read_like_a_stranger(tmp_path) == 300


def test_a_reader_meanwhile_always_finds_a_whole_log(tmp_path: Path) -> None:
    sizes = [*range(1, 600, 9), 600]

    def write() -> None:
        for previous, size in zip([0, *sizes], sizes, strict=False):
            bring_up(tmp_path, previous, size)

    seen = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            seen.append(read_like_a_stranger(tmp_path))
        writing.result()
    seen.append(read_like_a_stranger(tmp_path))
    assert seen == sorted(seen)
    assert seen[-1] == 600


class Killed(BaseException):
    """Stands for the end of the process: nothing in the product catches it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Ends the run before its step-th call that changes the disk."""
    left = [step]

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def counting(*arguments: object, **named: object) -> object:
            if left[0] == 0:
                raise Killed
            left[0] -= 1
            return call(*arguments, **named)

        return counting

    monkeypatch.setattr(os, "fsync", counted(os.fsync))
    monkeypatch.setattr(Path, "replace", counted(Path.replace))
    monkeypatch.setattr(Path, "mkdir", counted(Path.mkdir))
    monkeypatch.setattr(tiles.shutil, "rmtree", counted(tiles.shutil.rmtree))


def test_a_run_killed_at_any_moment_shows_a_whole_log_and_can_be_repeated(tmp_path: Path) -> None:
    step, killed = 0, True
    while killed:
        out = tmp_path / str(step)
        bring_up(out, 0, 250)
        with pytest.MonkeyPatch.context() as monkeypatch:
            kill_at(monkeypatch, step)
            try:
                bring_up(out, 250, 520)
                killed = False
            except Killed:
                pass
        assert read_like_a_stranger(out) in (250, 520)
        bring_up(out, 250, 530)
        assert read_like_a_stranger(out) == 530
        assert not (out / ".new").exists()
        step += 1
    assert step > 20


def test_the_checkpoint_is_replaced_only_after_every_file_and_folder_is_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(handle: int) -> None:
        done.append("sync " + os.path.relpath(Path(f"/proc/self/fd/{handle}").resolve(), tmp_path))
        real_fsync(handle)

    def replace(path: Path, target: Path) -> Path:
        done.append("name " + os.path.relpath(target, tmp_path))
        return real_replace(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    bring_up(tmp_path, 0, 257)
    moved = done.index("name checkpoint")
    assert done[moved + 1] == "sync ."
    names = [line for line in done if line.startswith("name ")]
    assert names[-1] == "name checkpoint"
    for place, line in enumerate(done):
        if line.startswith("name "):
            assert done[place - 1] == "sync .new", "a file is on disk before it has its name"
    for folder in (
        "tile",
        "tile/0",
        "tile/0/001.p",
        "tile/1",
        "tile/1/000.p",
        "tile/entries",
        "tile/entries/001.p",
        ".",
    ):
        assert f"sync {folder}" in done[:moved], "a name is on disk before the checkpoint that needs it"


def test_another_log_is_not_written_over(tmp_path: Path) -> None:
    stranger = NoteSigner("other.example", Ed25519PrivateKey.generate())
    bring_up(tmp_path, 0, 300)
    before = files(tmp_path)
    with pytest.raises(PublishError, match=r"holds the log log\.example/room, not other\.example"):
        bring_up(tmp_path, 0, 400, signer=stranger)
    fork = KeptNodes([b"a fork", *KEPT.entries[1:500]])
    with pytest.raises(PublishError, match="holds another log under the name"):
        bring_up(tmp_path, 300, 400, kept=fork)
    with pytest.raises(PublishError, match="holds another log under the name"):
        bring_up(tmp_path, 300, 300, kept=fork)
    assert files(tmp_path) == before


def test_a_published_log_never_goes_back(tmp_path: Path) -> None:
    bring_up(tmp_path, 0, 300)
    before = files(tmp_path)
    with pytest.raises(PublishError, match="never goes back"):
        bring_up(tmp_path, 0, 299)
    assert files(tmp_path) == before


def test_what_an_interrupted_run_of_another_log_left_is_not_mixed_in(tmp_path: Path) -> None:
    fork = KeptNodes([*KEPT.entries[:299], b"a fork"])
    bring_up(tmp_path, 0, 300, kept=fork)
    (tmp_path / "checkpoint").unlink()
    with pytest.raises(PublishError, match="other content"):
        bring_up(tmp_path, 0, 300)
    assert not (tmp_path / "checkpoint").exists()


def test_missing_files_are_put_back_when_nothing_is_taken_for_granted(tmp_path: Path) -> None:
    bring_up(tmp_path, 0, 300)
    before = files(tmp_path)
    (tmp_path / "tile/0/000").unlink()
    bring_up(tmp_path, 0, 300)
    assert files(tmp_path) == before


def test_a_checkpoint_file_that_is_none_is_not_written_over(tmp_path: Path) -> None:
    for content in (b"somebody's notes\n", b"\xff\n\n"):
        (tmp_path / "checkpoint").write_bytes(content)
        with pytest.raises(PublishError, match="is not a checkpoint"):
            bring_up(tmp_path, 0, 10)
        assert files(tmp_path) == {"checkpoint": content}


def test_only_a_checkpoint_that_the_log_gives_is_published(tmp_path: Path) -> None:
    for wrong in (note(299), SIGNER.sign(Checkpoint(SIGNER.name, 300, bytes(32)).text())):
        with pytest.raises(PublishError, match="not that of the log's first 300 entries"):
            publish(tmp_path / "log", 0, 300, wrong, KEPT.read, KEPT.read_entries)
    assert not (tmp_path / "log").exists()


def test_entries_that_are_not_those_of_the_tree_are_not_published(tmp_path: Path) -> None:
    def changed(first: int, end: int) -> list[bytes]:
        return [*KEPT.entries[first : end - 1], b"changed"]

    def short(first: int, end: int) -> list[bytes]:
        return KEPT.entries[first : end - 1]

    with pytest.raises(PublishError, match="entry 255 is not the one"):
        publish(tmp_path, 0, 300, note(300), KEPT.read, changed)
    with pytest.raises(PublishError, match="255 entries from index 0 where the log has 256"):
        publish(tmp_path, 0, 300, note(300), KEPT.read, short)
    assert published_checkpoint(tmp_path) is None


def test_one_process_at_a_time_publishes_to_a_folder(tmp_path: Path) -> None:
    def meanwhile(first: int, end: int) -> list[bytes]:
        with pytest.raises(PublishError, match="another process is publishing"):
            bring_up(tmp_path, 0, 10)
        return KEPT.entries[first:end]

    publish(tmp_path, 0, 300, note(300), KEPT.read, meanwhile)
    bring_up(tmp_path, 300, 301)
    published = published_checkpoint(tmp_path)
    assert published == Checkpoint(SIGNER.name, 301, root(301))
