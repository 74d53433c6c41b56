"""The facts of the machine without which a figure means little."""

import os
import platform
import sqlite3
import ssl
import sys
from pathlib import Path


def machine_facts() -> dict[str, str | int | float]:
    """Processor, cores open to this process, memory, load, and the versions that the figures hang on."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "load_1_minute": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
        "openssl": ssl.OPENSSL_VERSION,
        "sqlite": sqlite3.sqlite_version,
    }


def _processor() -> str:
    """The processor's name: Linux tells it in /proc/cpuinfo, other systems through `platform`."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
