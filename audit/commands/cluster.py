"""`--dask`: where the work is done, for the commands that spread it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from audit.cluster import LOCAL, Cluster
from audit.report.code_digest import code_digest

dask_option = click.option(
    "--dask",
    metavar="ADDRESS|local",
    help="Work on the Dask cluster whose scheduler is there (tcp://host:8786), or on one that is started here.",
)


@contextmanager
def cluster_at(address: str | None, processes: int) -> Iterator[Cluster | None]:
    """Connects to a cluster whose workers run this very code; yields None without an address.

    Raises:
        ClusterError: it cannot be had, or runs other code.
    """
    if address is None:
        yield None
        return
    cluster = Cluster.connect(address, processes)
    try:
        if address != LOCAL:
            cluster.check_code(code_digest)
        yield cluster
    finally:
        cluster.close()
