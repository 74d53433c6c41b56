"""Keys and signatures that RFC 8032 leaves open are refused: small order, other encodings, a great S."""

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from dealer.log import ed25519

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_MINUS_1 = pow(2, (P - 1) // 4, P)
Point = tuple[int, int]


def add(a: Point, b: Point) -> Point:
    """The group law of the curve, as RFC 8032 section 5.1.4 gives it, in affine coordinates."""
    product = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + product, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P)
    return x % P, y % P


def times(scalar: int, point: Point) -> Point:
    total = (0, 1)
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


def lift(y: int) -> Point | None:
    """A point with this y, if the curve has one."""
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * SQRT_MINUS_1 % P
    return (x, y) if x * x % P == square else None


def small_order_points() -> set[Point]:
    """The whole torsion of the curve: multiples of L times any point, until all eight are found."""
    found: set[Point] = set()
    y = 2
    while len(found) < 8:
        point = lift(y)
        if point is not None:
            torsion = times(L, point)
            found |= {times(scalar, torsion) for scalar in range(8)}
        y += 1
    return found


def encodings(point: Point) -> list[bytes]:
    """Every 32 bytes that some decoder takes for the point: both signs where x is 0, and y + p where that fits."""
    x, y = point
    signs = (0, 1) if x == 0 else (x & 1,)
    ys = [y, y + P] if y + P < 2**255 else [y]
    return [(each | sign << 255).to_bytes(32, "little") for each in ys for sign in signs]


def test_no_encoding_of_a_small_order_point_is_taken_as_a_key() -> None:
    points = small_order_points()
    assert all(times(8, point) == (0, 1) for point in points)
    keys = {raw for point in points for raw in encodings(point)}
    assert len(keys) == 14
    for raw in keys:
        with pytest.raises(ValueError, match=r"small order|not canonically encoded"):
            ed25519.load_public_key(raw)


def test_a_key_off_the_curve_or_of_another_length_is_refused() -> None:
    off = next(y for y in range(2, 100) if lift(y) is None)
    with pytest.raises(ValueError, match="not a point of the curve"):
        ed25519.load_public_key(off.to_bytes(32, "little"))
    with pytest.raises(ValueError, match="32 bytes"):
        ed25519.load_public_key(bytes(31))


def test_a_key_that_was_drawn_is_taken() -> None:
    for _ in range(20):
        raw = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
        assert ed25519.load_public_key(raw).public_bytes_raw() == raw


def test_a_signature_has_one_encoding() -> None:
    private_key = Ed25519PrivateKey.generate()
    signature = private_key.sign(b"text")
    ed25519.verify(private_key.public_key(), signature, b"text")
    greater = int.from_bytes(signature[32:], "little") + L
    for wrong in (
        signature[:32] + greater.to_bytes(32, "little"),
        signature + b"\x00",
        signature[:-1],
        bytes(64),
    ):
        with pytest.raises(InvalidSignature):
            ed25519.verify(private_key.public_key(), wrong, b"text")
    with pytest.raises(InvalidSignature):
        ed25519.verify(private_key.public_key(), signature, b"another text")
