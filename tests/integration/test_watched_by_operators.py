"""What an operator sees: log lines that hold no secret, metrics, health over HTTP, and the files of deploy/."""

import base64
import http.client
import json
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import yaml

from dealer.v1 import table_pb2, table_pb2_grpc, types_pb2
from tests.attacks.cosigning import ONE
from tests.integration.access_room import SERVER, Certificates
from tests.integration.running import BIN, STREETS, Running, rid, run_tool, running

DEPLOY = Path(__file__).parents[2] / "deploy"
METRIC = re.compile(r"cutcard_[a-z_]+")


def free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        return tried.getsockname()[1]


def fetched(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def lines(dealer: Running) -> list[dict[str, Any]]:
    return [json.loads(line) for line in dealer.log_lines().splitlines()]


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, int]]:
    port, folder = free_port(), tmp_path_factory.mktemp("watched")
    policy = folder / "policy"
    policy.write_text(f"witness one {ONE.key} http://127.0.0.1:{free_port()}\nquorum none\n")
    options = ("--log-format", "json", "--metrics-listen", f"127.0.0.1:{port}", "--witness-policy", str(policy))
    with running(folder / "data", *options) as dealer:
        room = dealer.room()
        room.play_out(room.open("t-1").hand_id)
        room.open("t-2")
        with pytest.raises(grpc.RpcError):
            room.open("t-2")
        yield dealer, port


def test_health_is_told_over_http_and_nothing_else_is_there(watched: tuple[Running, int]) -> None:
    dealer, port = watched
    assert fetched(port, "/healthz") == (200, "ok\n")
    assert fetched(port, "/readyz") == (200, "ok\n")
    for path in ("/", "/healthz/", "/metrics/x", "/favicon.ico"):
        assert fetched(port, path)[0] == 404
    from dealer.v1 import operator_pb2, operator_pb2_grpc

    with grpc.insecure_channel(dealer.address) as channel:
        stub = operator_pb2_grpc.OperatorServiceStub(channel)
        stub.Drain(operator_pb2.DrainRequest())
        assert fetched(port, "/readyz") == (503, "service unavailable\n")
        assert fetched(port, "/healthz")[0] == 200
        stub.Resume(operator_pb2.ResumeRequest())
    assert fetched(port, "/readyz")[0] == 200


@pytest.mark.parametrize("path", ["/metrics", "/healthz", "/readyz", "/nothing"])
def test_what_is_not_for_reading_is_refused_and_the_server_does_not_say_what_it_is_made_of(
    watched: tuple[Running, int], path: str
) -> None:
    found = dict[str, tuple[int, int]]()
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"):
        connection = http.client.HTTPConnection("127.0.0.1", watched[1], timeout=20)
        connection.request(method, path, body=b"x" if method in ("POST", "PUT") else None)
        answer = connection.getresponse()
        assert answer.getheader("Server") == "cutcard"
        found[method] = answer.status, len(answer.read())
        connection.close()
    assert found["GET"][0] == found["HEAD"][0] == (404 if path == "/nothing" else 200)
    assert (found["HEAD"][1], found["GET"][1] > 0) == (0, True)
    assert {found[method][0] for method in ("POST", "PUT", "DELETE", "OPTIONS")} == {405}


def test_the_board_and_the_rules_ask_for_metrics_that_there_are(watched: tuple[Running, int]) -> None:
    _, port = watched
    deadline = time.monotonic() + 30
    while 'cutcard_room_hands{room="local"}' not in (text := fetched(port, "/metrics")[1]):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    there = set(METRIC.findall(text))
    board = json.loads((DEPLOY / "grafana" / "dealer.json").read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    rules = [
        rule["expr"]
        for group in yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
        for rule in group["rules"]
    ]
    for query in (*asked, *rules):
        names = METRIC.findall(query)
        assert names, query
        assert set(names) <= there, query
    assert 'cutcard_refusals_total{reason="TABLE_BUSY"} 1.0' in text
    assert 'cutcard_build_info{code_digest="' in text
    assert 't-1"' not in text
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    for name in set(METRIC.findall(page)):
        assert name in there, f"{name} is on the page and not there"


def test_lines_say_what_happens_with_ids_and_no_secret(tmp_path: Path) -> None:
    with running(tmp_path / "data", "--log-format", "json") as dealer:
        room = dealer.room()
        hand = room.open("t-1").hand_id
        cards = [card for street in (types_pb2.STREET_THIRD,) for card in room.deal(hand, street).cards]
        dealer.kill()
        dealer.start()
        room = dealer.room()
        room.void(hand)
        dealer.stop()
        told = [line["event"] for line in lines(dealer)]
        assert told.count("serving") == 2
        assert told[-2:] == ["draining", "stopped"]
        begun = [line for line in lines(dealer) if line["event"] == "serving"]
        assert [line["hands_in_play"] for line in begun] == [0, 1]
        assert set(begun[0]) >= {"version", "code_digest", "origin", "key_id", "escrow", "addresses", "limits"}
        text = dealer.log_lines()
        for card in cards:
            assert card.salt.hex() not in text
        key = (tmp_path / "data" / "log.key").read_text().strip().rpartition("+")[2]
        assert key not in text


def written(secret: bytes) -> set[str]:
    """The ways in which a secret could stand in a line."""
    return {secret.hex(), base64.b64encode(secret).decode().rstrip("="), repr(secret)[2:-1]}


def test_no_line_of_a_night_with_kills_holds_a_secret(tmp_path: Path) -> None:
    data, secrets = tmp_path / "data", list[bytes]()
    seats = [table_pb2.SeatStack(seat=seat, stack=1000) for seat in (1, 2)]
    stakes = table_pb2.Stakes(ante=1, bring_in=2, small_bet=4, big_bet=8, chip=1)
    with running(data, "--log-format", "json") as dealer:
        room = dealer.room()
        hand = room.open("t").hand_id
        for street in STREETS:
            secrets += [card.salt for card in room.deal(hand, street).cards]
            secrets += [path.read_bytes() for path in (data / "at-rest").rglob("*") if path.suffix == ".key"]
            dealer.kill()
            dealer.start()
            room = dealer.room()
            stub = table_pb2_grpc.TableServiceStub(room.channel)
            started = stub.StartHand(
                table_pb2.StartHandRequest(
                    request_id=rid(),
                    table=f"r{street}",
                    game=1,
                    reveal=1,
                    seats=seats,
                    stakes=stakes,
                    action_seconds=60,
                )
            )
            secrets += [each.token for each in started.tokens]
            with pytest.raises(grpc.RpcError):  # a wrong one may not be said either
                stub.Act(
                    table_pb2.ActRequest(
                        request_id=rid(), hand_id=started.table_hand.hand_id, seat=1, token=b"w" * 32, action=3
                    )
                )
            secrets.append(b"w" * 32)
        room.close(hand)
        dealer.stop()
        text = dealer.log_lines()
    secrets = [secret for secret in secrets if secret]
    assert len(secrets) > 20
    assert text.count('"serving"') == 6
    for secret in secrets:
        for form in written(secret):
            assert form not in text


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not here")
def test_the_rules_are_rules() -> None:
    for words in (("check", "rules", DEPLOY / "alerts.yml"), ("check", "config", DEPLOY / "prometheus.yml")):
        done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_manifests_run_as_nobody_without_a_shell_and_probe_what_there_is() -> None:
    documents = list(yaml.safe_load_all((DEPLOY / "kubernetes" / "dealer.yaml").read_text()))
    assert [each["kind"] for each in documents] == ["Service", "StatefulSet"]
    pod = documents[1]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    paths = {container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("startup", "liveness", "readiness")}
    assert paths == {"/healthz", "/readyz"}
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    assert set(compose["services"]) == {"dealer", "log", "prometheus", "grafana"}
    assert compose["services"]["dealer"]["read_only"] is True
    from dealer.cli import main

    known = {option for parameter in main.commands["serve"].params for option in parameter.opts}  # type: ignore[attr-defined]
    for words in (container["args"], compose["services"]["dealer"]["command"]):
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known
    docker = (DEPLOY / "Dockerfile").read_text()
    assert docker.count("\nFROM ") + docker.startswith("FROM ") == 2
    assert re.search(r"^USER 10001", docker, re.MULTILINE)
    mounted = [each["mountPath"] for each in container["volumeMounts"]]
    mounted += [each.split(":")[1] for each in compose["services"]["dealer"]["volumes"]]
    for folder in {each for each in mounted if each not in ("/tls", "/tmp")} | {"/run/cutcard"}:
        assert re.search(rf"install -d -o 10001 .*{folder}\b", docker), f"{folder} would be root's"
    unit = (DEPLOY / "cutcard-dealer.service").read_text()
    assert {"LimitCORE=0", "MemorySwapMax=0", "NoNewPrivileges=yes"} <= set(unit.splitlines())
    assert ("-m 0711 /data" in docker, "StateDirectoryMode=0711" in unit) == (True, True), "a web server reads public/"


def test_a_dealer_starts_by_the_manifest_s_arguments_and_its_probes_are_reached(tmp_path: Path) -> None:
    (tmp_path / "at-rest").mkdir(mode=0o777)  # as the cluster mounts it: empty, at each start of the pod
    made = Certificates(tmp_path / "tls")
    made.ca()
    made.issue("tls", *SERVER)
    for name, given in (("ca", "ca.crt"), ("tls", "tls.crt")):
        made.path(name).rename(tmp_path / "tls" / given)
    assert (
        run_tool("dealer", "init", "--data-dir", tmp_path / "data", "--origin", "example.com/manifest").returncode == 0
    )
    documents = yaml.safe_load_all((DEPLOY / "kubernetes" / "dealer.yaml").read_text())
    (container,) = next(each for each in documents if each["kind"] == "StatefulSet")["spec"]["template"]["spec"][
        "containers"
    ]
    port = free_port()
    words = [word.replace("=/", f"={tmp_path}/").replace(":9464", f":{port}") for word in container["args"]]
    dealer = subprocess.Popen(
        [BIN / "dealer", *(re.sub(r":500\d\d$", ":0", word) for word in words)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert dealer.stdout is not None
        assert dealer.stdout.readline().startswith("listening on 0.0.0.0:")
        for path in ("/healthz", "/readyz"):  # from an address that a server on 127.0.0.1 alone does not have
            with urllib.request.urlopen(f"http://127.0.0.2:{port}{path}", timeout=20) as answer:
                assert answer.status == 200
    finally:
        dealer.kill()
        dealer.wait()
