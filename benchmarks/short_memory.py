"""A dealer whose answers are kept for SECONDS: `python -m benchmarks.short_memory SECONDS DATA [EVERY]`, to age one.

`dealer serve` keeps them for a day at the least; everything else is as it is there, but that what has expired may be
forgotten more often than once a minute.
"""

import sys
from pathlib import Path

from dealer.run import run_until_stopped
from dealer.service.loglines import configure
from dealer.service.server import Dealer
from dealer.service.settings import Limits, Settings
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir

if __name__ == "__main__":
    configure("text")
    data = DataDir.at(Path(sys.argv[2]))
    if not data.exists():
        data.init("benchmark.example/log")
    every = float(sys.argv[3]) if len(sys.argv) > 3 else 60.0
    settings = Settings(limits=Limits(answer_seconds=int(sys.argv[1])), forget_seconds=every)
    run_until_stopped(Dealer(data, settings, Sources()))
