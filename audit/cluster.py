"""Work on a Dask cluster (extra `audit-dask`): tasks that any of its workers may do, and do again if one dies.

A worker runs this very auditor, from its own installation; one with other code is refused, since its results would be
that code's. It is given what it checks with, escrow keys included: a cluster is the auditor's own, or nobody's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from audit.errors import InputError
from audit.plural import counted

LOCAL = "local"
CONNECT_SECONDS = 20
RETRIES = 2

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class Task(Protocol[Result_co]):
    """A piece of work that was handed in."""

    def result(self) -> Result_co:
        """Waits for its result."""
        ...

    def done(self) -> bool:
        """Tells whether it has ended."""
        ...


class ClusterError(InputError):
    """The cluster cannot be had, or has given a task up: nothing is known of what it should have read."""


class Cluster:
    """A connection to a cluster.

    Attributes:
        workers: how many tasks can run at a time, as of now.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.workers = sum(client.nthreads().values())

    @classmethod
    def connect(cls, address: str, processes: int) -> Cluster:
        """Connects to a scheduler, or starts a cluster on this machine.

        Args:
            address: of the scheduler (`tcp://host:8786`, `tls://…`), or `local`.
            processes: how many a local cluster has.

        Raises:
            ClusterError: it cannot be reached, has no workers, or Dask is not installed.
        """
        try:
            dask: Any = importlib.import_module("distributed")
        except ImportError:
            raise ClusterError("Dask is not installed: it comes with the extra `audit-dask`") from None
        try:
            if address == LOCAL:
                quiet: Any = {"dashboard_address": None, "silence_logs": "CRITICAL"}
                own = dask.LocalCluster(n_workers=processes, threads_per_worker=1, **quiet)
                return cls(dask.Client(own, set_as_default=False))
            client = dask.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ClusterError(f"no Dask scheduler at {address}: {error}") from None
        if not client.nthreads():
            client.close()
            raise ClusterError(f"the Dask scheduler at {address} has no workers")
        return cls(client)

    def check_code(self, digest: Callable[[], str]) -> None:
        """Refuses a cluster whose workers run other code.

        Args:
            digest: gives the code digest of the package `audit` where it is called.

        Raises:
            ClusterError: some worker has another digest, or cannot run this auditor at all.
        """
        ours = digest()
        try:
            theirs = self._client.run(digest, on_error="return")
        except Exception as error:
            raise ClusterError(f"the workers do not say what code they run: {error}") from None
        for worker, found in theirs.items():
            if isinstance(found, BaseException):
                raise ClusterError(f"worker {worker} cannot run this auditor: {found}")
            if found != ours:
                raise ClusterError(f"worker {worker} runs other code: code digest {found}, here {ours}")

    def share(self, value: Any) -> Any:
        """Gives every worker a value once; what is returned stands for it as an argument of `submit`."""
        return self._client.scatter(value, broadcast=True, hash=False)

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Task[Result]:
        """Hands in one piece of work."""
        return _ClusterTask(self._client.submit(function, *arguments, pure=False, retries=RETRIES))

    def close(self) -> None:
        """Lets the cluster go; one that was started here ends."""
        own = self._client.cluster
        self._client.close()
        if own is not None:
            own.close()


class _ClusterTask(Task[Result]):
    def __init__(self, future: Any) -> None:
        self._future = future

    def result(self) -> Result:
        """Waits for the result.

        Raises:
            ClusterError: the cluster gave the task up, because workers died under it again and again or are all gone.
        """
        from distributed.client import FutureCancelledError
        from distributed.scheduler import KilledWorker, NoValidWorkerError

        try:
            value: Result = self._future.result()
        except KilledWorker as error:
            deaths = counted(getattr(error, "allowed_failures", 0) + 1, "worker")
            raise ClusterError(f"the cluster gave up: {deaths} died, one after the other, with the same task") from None
        except (FutureCancelledError, NoValidWorkerError, OSError) as error:
            raise ClusterError(f"the cluster gave up: {error}") from None
        finally:
            self._future.release()
        return value

    def done(self) -> bool:
        """Tells whether it has ended."""
        return bool(self._future.done())
