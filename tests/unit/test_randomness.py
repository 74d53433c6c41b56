"""The table of all places that ask for random bytes is the source's own, and no way to ask is overlooked."""

import pytest

from tests.randomness import asked_in, unlisted_places


def test_the_table_and_the_source_agree() -> None:
    assert unlisted_places() == []


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("import os\nos.urandom(3)", "os.urandom"),
        ("import os as system\ndef f(source=system.urandom): ...", "os.urandom"),
        ("from os import urandom as u\nx = u", "os.urandom"),
        ("import secrets\nsecrets.token_bytes(1)", "secrets.token_bytes"),
        ("from random import shuffle\nshuffle([])", "random.shuffle"),
        ("import uuid\nuuid.uuid4()", "uuid.uuid4"),
        ("import numpy as np\nnp.random.default_rng(1)", "numpy.random.default_rng"),
        ("from cryptography.hazmat.primitives.ciphers.aead import AESGCM\nAESGCM.generate_key(128)", "generate_key"),
        ("from cryptography.hazmat.primitives.hpke import Suite\nS = Suite()\nS.encrypt(b'')", "Suite.encrypt"),
        ("from dealer.core.seed import draw_seed\ndraw_seed(x)", "dealer.core.seed.draw_seed"),
    ],
)
def test_each_way_to_ask_is_found(text: str, asks: str) -> None:
    assert [name for name in asked_in(text) if name.endswith(asks)]


def test_what_only_names_a_generator_asks_for_nothing() -> None:
    assert asked_in("import numpy as np\nimport os\ndef f(rng: np.random.Generator): os.getpid()") == set()
