"""Slots of keys: taken without a write, never twice, overwritten when given back, and refused where that fails."""

import os
import threading
from pathlib import Path

import pytest

from dealer.store.interface import VaultError
from dealer.store.slots import SLOT_BYTES, Slots


@pytest.fixture
def slots(tmp_path: Path):
    slots = Slots(tmp_path / "seeds", ready=8)
    slots.keep_only(set())
    yield slots
    slots.close()


def test_no_key_is_taken_twice_however_many_are_taken(slots: Slots, tmp_path: Path) -> None:
    taken = [slots.take() for _ in range(100)]
    secrets = {slots.secret(key) for key in taken}
    assert len(set(taken)) == len(secrets) == 100
    assert None not in secrets
    content = (tmp_path / "seeds").read_bytes()
    assert all(secret in content for secret in secrets if secret), "each was durable before it was taken"


def test_keys_that_are_in_use_are_there_at_the_next_start_and_no_other(slots: Slots, tmp_path: Path) -> None:
    used, dropped = slots.take(), slots.take()
    secrets = [slots.secret(used), slots.secret(dropped)]
    slots.close()
    again = Slots(tmp_path / "seeds", ready=8)
    again.keep_only({used})
    try:
        assert (again.secret(used), again.secret(dropped)) == (secrets[0], None)
        assert secrets[1] not in (tmp_path / "seeds").read_bytes()
        assert used not in [again.take() for _ in range(20)]
    finally:
        again.close()


def test_a_slot_that_was_half_written_holds_no_key(slots: Slots, tmp_path: Path) -> None:
    key = slots.take()
    slots.close()
    file = tmp_path / "seeds"
    content = bytearray(file.read_bytes())
    at = content.index(key.to_bytes(8, "big"))
    content[at + 20] ^= 1
    file.write_bytes(bytes(content) + b"half a slot")
    assert Slots(file).secret(key) is None


def test_a_file_that_is_taken_away_is_made_again_with_the_keys_in_use(slots: Slots, tmp_path: Path) -> None:
    key = slots.take()
    secret = slots.secret(key)
    (tmp_path / "seeds").unlink()
    slots.give_back([slots.take()])
    slots.close()
    assert Slots(tmp_path / "seeds").secret(key) == secret


def test_while_a_key_cannot_be_overwritten_none_is_given_out(
    slots: Slots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = threading.Event()
    slots.on_failure = lambda error: failed.set()
    key = slots.take()
    secret = slots.secret(key) or b"none"

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", fail)
        slots.give_back([key])
        assert failed.wait(20)
        with pytest.raises(VaultError, match="Input/output error"):
            slots.take()
        with pytest.raises(VaultError):
            slots.keep_only(set())
    slots.keep_only(set())
    slots.take()
    content = (tmp_path / "seeds").read_bytes()
    assert secret not in content
    assert len(content) % SLOT_BYTES == 0


def test_a_key_file_that_is_none_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "seeds").mkdir()
    with pytest.raises(VaultError, match="cannot be read"):
        Slots(tmp_path / "seeds")
