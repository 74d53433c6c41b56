"""A dealer whose answers are kept for SECONDS: `python -m benchmarks.short_memory SECONDS DATA`, for what expires.

`dealer serve` keeps them for a day at the least; everything else is as it is there.
"""

import sys
from pathlib import Path

from dealer.run import run_until_stopped
from dealer.service.server import Dealer
from dealer.service.settings import Limits, Settings
from dealer.service.writer.sources import Sources
from dealer.store.datadir import DataDir

if __name__ == "__main__":
    data = DataDir.at(Path(sys.argv[2]))
    if not data.exists():
        data.init("benchmark.example/log")
    run_until_stopped(Dealer(data, Settings(limits=Limits(answer_seconds=int(sys.argv[1]))), Sources()))
