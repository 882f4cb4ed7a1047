"""The machine, the versions and the day of a measurement."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

VERSIONS = ("apache-airflow", "pyspark")


def conditions() -> dict[str, str]:
    """Return what a figure depends on, besides what is measured."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "machine": f"{os.cpu_count()} cores ({_processor()}), {memory:.0f} GiB, load {os.getloadavg()[0]:.1f}",
        "versions": ", ".join(
            [
                f"Python {platform.python_version()}",
                f"Java {_java()}",
                *(f"{package.removeprefix('apache-')} {version(package)}" for package in VERSIONS),
            ]
        ),
    }


def _commit() -> str:
    """Return the commit, with `-dirty` if there are changes besides the figures of earlier parts."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "..", ":!results")
    commit = _git("rev-parse", "--short", "HEAD")
    return f"{commit}-dirty" if commit and changed else commit or "unknown"


def _git(*words: str) -> str:
    told = subprocess.run(["git", *words], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    return told.stdout.strip()


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _java() -> str:
    told = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False)
    return told.stderr.partition('"')[2].partition('"')[0]
