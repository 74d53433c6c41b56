"""Exactly uniform bits from decks, for bit batteries that know nothing of cards (STATISTICS.md section 4).

Elias's extraction: the number of a deck among the n! orders is uniform on 0 … n! - 1 if the decks are. Written in
binary, n! splits that range into blocks of 2^a numbers, one for each bit a that is set in n!. Within a block the lower
a bits are uniform, whatever the block. Nothing is thrown away but the block's name: 224.0 of 225.6 bits of a deck of
52 cards are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import factorial

import numpy as np
from numpy.typing import NDArray

from audit.stats.batch import Batch

_FLUSH = 1 << 12


def deck_numbers(decks: NDArray[np.uint8]) -> Iterator[int]:
    """Returns the number of each deck among the n! orders, from its Lehmer digits.

    Args:
        decks: uint8, shape (N, n), permutations of 0 … n - 1, n at most 64.

    Yields:
        A number from 0 to n! - 1 for each deck; equal only for equal decks.
    """
    digits, _ = Batch(decks).lehmer_digits
    # Digit i is one of i + 1. As many of them go into one 64-bit word as fit, which leaves few long multiplications.
    words: list[NDArray[np.uint64]] = []
    sizes: list[int] = []
    for i, digit in enumerate(digits):
        if not sizes or sizes[-1] * (i + 1) >= 1 << 64:
            words.append(np.zeros(digits.shape[1], dtype=np.uint64))
            sizes.append(1)
        words[-1] += digit * np.uint64(sizes[-1])
        sizes[-1] *= i + 1
    scales = [1]
    for size in sizes[:-1]:
        scales.append(scales[-1] * size)
    for parts in zip(*(word.tolist() for word in words), strict=True):
        yield sum(part * scale for part, scale in zip(parts, scales, strict=True))


def uniform_bits(chunks: Iterable[NDArray[np.uint8]]) -> Iterator[bytes]:
    """Packs the uniform bits of all decks, first bit highest.

    Args:
        chunks: Decks, each uint8 of shape (N, n).

    Yields:
        Bytes. Up to seven bits at the very end that fill no byte are left out.
    """
    held, length = 0, 0
    for decks in chunks:
        total = factorial(decks.shape[1])
        packed = bytearray()
        for number in deck_numbers(decks):
            # The highest bit in which the number falls short of n! is its block's.
            block = (number ^ total).bit_length() - 1
            held = held << block | number & ((1 << block) - 1)
            length += block
            if length >= _FLUSH:
                rest = length % 8
                packed += (held >> rest).to_bytes(length // 8, "big")
                held, length = held & ((1 << rest) - 1), rest
        yield bytes(packed)
    yield (held >> length % 8).to_bytes(length // 8, "big")


FORMS = ("raw", "ascii", "words")
"""The forms that batteries and laboratories take."""


def in_form(parts: Iterable[bytes], form: str) -> Iterator[bytes]:
    """Yields bytes in a form.

    Args:
        parts: The bytes.
        form: `raw`; `ascii`, a 0 or 1 for each bit, highest first, without line feeds (NIST SP 800-22's suite); or
            `words`, 32-bit words in decimal, first byte highest, one a line (dieharder below its head).
            Up to three bytes at the very end that fill no word are left out.
    """
    if form == "raw":
        yield from parts
        return
    rest = b""
    for part in parts:
        if form == "ascii":
            yield np.unpackbits(np.frombuffer(part, np.uint8)).astype("S1").tobytes()
            continue
        data = rest + part
        whole = len(data) // 4 * 4
        rest = data[whole:]
        yield b"".join(b"%d\n" % word for word in np.frombuffer(data[:whole], ">u4").tolist())
