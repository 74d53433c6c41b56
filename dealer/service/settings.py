"""How a dealer runs, and what it allows itself and its callers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dealer.log.policy import Policy


@dataclass(frozen=True, slots=True)
class Limits:
    """What the service allows itself and its callers.

    Attributes:
        hands_in_play: at once, over all tables.
        pending: commands of one room waiting to be carried out; one connection's at most as many as the room has left.
            The public as a whole is a room here.
        streams: open on one connection at once.
        caller_streams: open at once on all connections of a room or an operator.
        room_hands: in play at once of one room.
        room_tables: of one room, ever.
        room_rate: requests a second of one room; so many at once as well.
        room_connections: on which one room's calls come at once.
        room_pending: calls of one room that wait their turn while another room is there.
        address_rate, address_connections, address_pending, address_streams: the same of one address on the public
            listener, of IPv6 of one /64.
        slow_seconds: a stream that takes nothing for so long is ended.
        call_seconds: a call without a deadline of its own is given so long.
        answer_seconds: for how long answers are kept after their hand closed; at least 24 hours in production.
        key_seconds: lifetime of a key that seals answers at rest.
    """

    hands_in_play: int = 20_000
    pending: int = 20_000
    streams: int = 1_000
    caller_streams: int = 10_000
    room_hands: int = 20_000
    room_tables: int = 100_000
    room_rate: float = 20_000.0
    room_connections: int = 1_000
    room_pending: int = 10_000
    address_rate: float = 200.0
    address_connections: int = 100
    address_pending: int = 200
    address_streams: int = 200
    slow_seconds: float = 60.0
    call_seconds: float = 30.0
    answer_seconds: int = 24 * 3600
    key_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class Tls:
    """The files of TLS, and whose certificates count (docs/access.md, sections 1 and 2).

    Attributes:
        certificate, key: the server's own chain and key, in PEM.
        client_ca: the CA certificates that callers' certificates must lead to, in PEM.
        domain: the trust domain of their SPIFFE ids.
        revoked: a list of certificates that hold no more; None: there is none.
    """

    certificate: Path
    key: Path
    client_ca: Path
    domain: str
    revoked: Path | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """The database that several dealers share (MACHINES.md).

    Attributes:
        url: of PostgreSQL; it may hold a password.
        replication: none, synchronous or asynchronous, as the operator declares.
        lease_seconds: how long the lease lasts.
    """

    url: str = field(repr=False)
    replication: str
    lease_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class Witnessing:
    """Who cosigns the log, and how they are asked (WITNESS.md section 4).

    Attributes:
        policy: the witnesses, each with its url, and the quorum.
        seconds: the pace of the static log, and so of the requests; at least 1.
        timeout: so long one round waits for answers.
        refresh: after so long a log that has not grown is shown again.
    """

    policy: Policy
    seconds: float = 10.0
    timeout: float = 5.0
    refresh: float = 3600.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How a dealer runs.

    Attributes:
        listen: HOST:PORT, on the loopback unless there is TLS, and unix:/PATH; port 0 takes a free one.
        public: HOST:PORT of the public listener; None: there is none.
        tls: files of TLS; None: everybody on the loopback is local.
        anywhere: whether a listener without TLS may be off the loopback, for a mesh that brings its own.
        public_rail: whether the public may watch the rail of the referee's hands.
        log: HOST:PORT of the static log over plain HTTP; None: a web server serves it.
        metrics: HOST:PORT for Prometheus; None: no metrics are served.
        reflection: whether server reflection is on.
        public_idle_seconds: a connection to the public listener without a call is closed after so long.
        publish_seconds: at most so often the static log moves on; at least 1.
        hand_seconds: hands that nobody has touched for so long are void; None: none is. A referee's hand has clocks.
        judge_seconds: so often the callers of open streams are judged again.
        contribution_seconds: after so long an offered hand is locked; 0: only by LockDeck.
        grace_seconds: for how long a dealer that is stopped lets calls end.
        probe_seconds: so often an idle storage is tried, and one that failed.
        forget_seconds: so often what has expired is forgotten.
        tidy_seconds: so often the database's write-ahead log is looked at.
        most_ahead: bytes of it from which it is written back, and complained of if that is not possible.
        table_owners: who tables belong to that move here from other shards, by table.
        tend_seconds: so often the keys at rest of several dealers are looked after.
        shared: the database that several dealers share; None: the store is embedded.
        limits: what it allows itself and its callers.
        witnesses: who cosigns the log; None: nobody is asked.
    """

    listen: tuple[str, ...] = ("127.0.0.1:0",)
    public: str | None = None
    tls: Tls | None = None
    anywhere: bool = False
    public_rail: bool = False
    log: str | None = None
    metrics: str | None = None
    reflection: bool = True
    public_idle_seconds: float = 60.0
    publish_seconds: float = 1.0
    contribution_seconds: float = 60.0
    hand_seconds: float | None = None
    judge_seconds: float = 60.0
    grace_seconds: float = 10.0
    probe_seconds: float = 1.0
    forget_seconds: float = 60.0
    tidy_seconds: float = 10.0
    tend_seconds: float = 1.0
    shared: Shared | None = None
    most_ahead: int = 64 * 1024 * 1024
    table_owners: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    witnesses: Witnessing | None = None
