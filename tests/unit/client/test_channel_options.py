"""The options of a client's channels: each once, for of two of one name gRPC takes the first."""

from dealer.client.channel import OPTIONS, merged


def test_an_option_of_several_dealers_takes_the_place_of_the_common_one() -> None:
    found = merged([("grpc.keepalive_time_ms", 10_000), ("grpc.enable_retries", 0)])
    assert [name for name, _ in found] == [*(name for name, _ in OPTIONS), "grpc.enable_retries"]
    assert dict(found)["grpc.keepalive_time_ms"] == 10_000
    assert dict(merged(()))["grpc.keepalive_time_ms"] == 30_000
