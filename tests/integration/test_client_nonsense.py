"""Nothing that comes back makes a client fail but by its own errors: bytes, fields and entries of every wrong shape."""

import json
import random

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor

from dealer.client import Client, ClientError, Retry
from dealer.log.checkpoint import Checkpoint, sign_checkpoint
from dealer.log.merkle import leaf_hash, node_hash
from dealer.log.receipt import make_receipt
from tests.integration.lying_server import honest_dealer, lying_server
from tests.integration.test_client_lies import refused

QUICK = Retry(attempts=1)
SEED, HANDS = 20, 30
METHODS = ["OpenHand", "SubmitEntropy", "LockDeck", "DealStreet", "ShowCards", "FoldSeat", "VoidHand"]
OF_THE_LOG = ["GetReceipt", "GetCheckpoint", "GetConsistencyProof"]
INTEGERS = (0, 1, 2**31 - 1, 2**32 - 1, 2**53, 2**63, 2**64 - 1)
TEXTS = ("", "\x00", "\n\n", "a" * 5000, "\u202e\x1b[2J", "c2sp.org/tlog-proof@v1\nindex 1\n\n", "\n\n\u2014 a b\n")
JUNK = (None, True, -1, 0.5, 2**53, 10**400, "", "é", "\ud800", [], {}, [[]], {"": 0}, ["x", 1], float("nan"))


def one_value(rng, field):
    if field.message_type is not None:
        return None
    if field.type in (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_UINT64):
        most = 2**32 - 1 if field.type == FieldDescriptor.TYPE_UINT32 else 2**64 - 1
        return rng.choice([number for number in INTEGERS if number <= most])
    if field.type == FieldDescriptor.TYPE_ENUM:
        return rng.choice([-1, 0, 1, 2, 77, 2**31 - 1])
    if field.type == FieldDescriptor.TYPE_BYTES:
        return rng.choice([b"", b"\x00", rng.randbytes(31), rng.randbytes(32), rng.randbytes(5000), b"{}", b"[" * 3000])
    return rng.choice(TEXTS)


def change_a_field(rng, message):
    """Sets one field, somewhere in a message, to a value of its type that means nothing, or clears or repeats it."""
    fields = list(message.DESCRIPTOR.fields)
    inner = [f for f in fields if f.message_type is not None and (not f.is_repeated and message.HasField(f.name))]
    if inner and rng.random() < 0.6:
        return change_a_field(rng, getattr(message, rng.choice(inner).name))
    field = rng.choice(fields)
    value = getattr(message, field.name)
    if field.is_repeated and field.message_type is not None and len(value) and rng.random() < 0.7:
        return change_a_field(rng, rng.choice(list(value)))
    match rng.randrange(3):
        case 0:
            message.ClearField(field.name)
        case 1 if field.is_repeated:
            value.extend([value[0]] * rng.choice([1, 60]) if len(value) else [])
        case _ if field.message_type is not None:
            message.ClearField(field.name)
        case _ if field.is_repeated:
            message.ClearField(field.name)
            getattr(message, field.name).extend(one_value(rng, field) for _ in range(rng.choice([1, 3, 60])))
        case _:
            setattr(message, field.name, one_value(rng, field))
    return None


def other_bytes(rng, data):
    """Bytes that are near an answer's: turned, cut, doubled, or of other wire types."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        at = rng.randrange(len(data)) if data else 0
        match rng.randrange(5):
            case 0 if data:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = rng.randbytes(rng.choice([1, 2, 9]))
            case 3:
                data[at:] = data[at:] * 2
            case _:
                data[:0] = bytes([8 * rng.randrange(1, 22) + rng.randrange(8)]) + rng.randbytes(3)
    return bytes(data)


def changed_entry(rng, entry):
    """An entry with a member of another type, one too many or too few; at times in no canonical form."""
    content = json.loads(entry)
    name = rng.choice([*content, "new"])
    if rng.random() < 0.2:
        content.pop(name, None)
    else:
        content[name] = rng.choice(JUNK)
    if rng.random() < 0.1:
        content = rng.choice([content, [content], None, "x"])
    deep = b"[" * 5000 + b"]" * 5000
    whole = json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
    return rng.choice([whole] * 9 + [deep])


def signed_receipt(rng, entry, signer):
    """A true receipt for any entry, of a tree of any size: a dealer signs what it likes."""
    height = rng.choice([0, 1, 3, 54, 63])
    index, node, proof = (rng.choice([0, 2**height - 1]), leaf_hash(entry), [rng.randbytes(32) for _ in range(height)])
    for level, sibling in enumerate(proof):
        node = node_hash(sibling, node) if index >> level & 1 else node_hash(node, sibling)
    return index, make_receipt(index, proof, sign_checkpoint(Checkpoint(signer.name, 2**height, node), signer))


def sign_other_entry(rng, answer, signer):
    """Puts a changed entry with a receipt that holds in place of the answer's."""
    holder = answer.hand if answer.DESCRIPTOR.fields_by_name.get("hand") else answer
    for entry, receipt, index in (
        ("commit_entry", "receipt", "commit_index"),
        ("offer_entry", "offer_receipt", "offer_index"),
        ("entry", "receipt", ""),
    ):
        where = holder if entry != "entry" else answer
        if getattr(where, entry, b""):
            made = changed_entry(rng, getattr(where, entry))
            at, text = signed_receipt(rng, made, signer)
            setattr(where, entry, made)
            setattr(where, receipt, text)
            if index:
                setattr(where, index, at)


def lie_of(rng, signer):
    kind = rng.choice(["field", "field", "fields", "bytes", "entry"])

    async def lie(request, forward):
        answer = await forward(request)
        if kind == "bytes":
            return other_bytes(rng, answer.SerializeToString())
        if kind == "entry":
            sign_other_entry(rng, answer, signer)
        for _ in range({"field": 1, "fields": 4}.get(kind, 0)):
            change_a_field(rng, answer)
        return answer

    return lie


async def play(client, table, sealed):
    hand = await client.open_hand(
        table, [1, 2, 3], contribute_as=["me"], reveal="sealed" if sealed else "public", number=1
    )
    await hand.deal_street("third")
    await hand.show([0])
    await hand.fold(2)
    await client.refresh()
    await hand.void()
    return hand.hand_id


async def test_nonsense_ends_in_an_error_of_the_client_s_own(tmp_path):
    """Hands, each with one method whose answers are changed at random; the seed is fixed."""
    rng = random.Random(SEED)
    outcomes = {"believed": 0, "refused": 0}
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as liar:

        async def index_only(request, forward):  # so that GetReceipt is asked
            answer = await forward(request)
            answer.hand.ClearField("receipt")
            return answer

        for number in range(HANDS):
            method = rng.choice(METHODS + OF_THE_LOG)
            liar.lies = {"LockDeck": index_only} if method == "GetReceipt" else {}
            liar.lies[method] = lie_of(rng, liar.signer)
            async with Client(
                liar.address,
                liar.signer.verifier_key,
                folder=tmp_path / f"{number}",
                retry=QUICK,
                stream=bool(number % 2),
            ) as client:
                try:
                    await play(client, f"t{number}", sealed=rng.random() < 0.5)
                except ClientError:
                    outcomes["refused"] += 1
                else:
                    outcomes["believed"] += 1
        assert outcomes["refused"] > HANDS // 2
        assert outcomes["believed"] > 2  # what changes nothing that is read, such as a field that nobody knows


NOT_UTF_8 = b"\x0a\x08\x12\x02\xff\xfe\x22\x02\xff\xfe"  # a table, where the hand is first, or a card


@pytest.mark.parametrize("data", [b"\xff", b"\x0a\xff", NOT_UTF_8], ids=["no tag", "cut", "not UTF-8"])
@pytest.mark.parametrize("method", METHODS)
async def test_bytes_that_are_no_answer_are_refused(tmp_path, method, data):
    async def lie(request, forward):
        return data

    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as liar:
        liar.lies[method] = lie
        async with Client(liar.address, liar.signer.verifier_key, folder=tmp_path / "c", retry=QUICK) as client:
            await refused("schema", f"the bytes that came back from {method} do not decode", play(client, "t", False))


async def test_parts_of_the_log_that_are_none_are_refused(tmp_path):
    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as liar:
        key = liar.signer.verifier_key
        client = Client(liar.address, key, folder=tmp_path / "c", retry=QUICK)
        async with client:
            hand = await play(client, "t", False)
            liar.parts = [b"\xff"]
            await refused("schema", "came back from ListEntries do not decode", client.resume(hand))
            liar.parts = [b""]
            await refused("lifecycle", "the log has no close of it", client.resume(hand))
            entry = b'{"hand":"%b","schema":"cutcard/v1/close", }' % hand.encode()
            liar.parts = [b"\x12" + bytes([len(entry)]) + entry]
            await refused("schema", "the entry is not a JSON object", client.resume(hand))


async def test_details_that_are_no_status_are_an_ordinary_refusal(tmp_path):
    async def lie(request, forward):
        details = (("grpc-status-details-bin", b"\xff\x00"),)
        raise grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, grpc.aio.Metadata(), grpc.aio.Metadata(*details))

    async with honest_dealer(tmp_path / "data") as dealer, lying_server(dealer) as liar:
        liar.lies["OpenHand"] = lie
        async with Client(liar.address, liar.signer.verifier_key, retry=QUICK) as client:
            with pytest.raises(ClientError) as caught:
                await client.open_hand("t", [1, 2, 3])
        assert (caught.value.code, caught.value.reason) == (grpc.StatusCode.INTERNAL, "")
