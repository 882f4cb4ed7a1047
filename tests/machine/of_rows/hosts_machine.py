"""Drawn pipelines over times and texts, run by drivers of hosts with other zones, locales and charsets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import initialize
from pyarrow import parquet

import graph_compiler
from graph_compiler import Parquet
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.local_task import DeskRun, desk_task
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.testing.pytest_plugin import SHORT_LIVED
from tests.conftest import mark
from tests.machine.alphabet import drawn
from tests.machine.of_rows.keys import KEYS
from tests.machine.of_rows.lookups import VARYING
from tests.machine.of_rows.rows_machine import ROWS, Row, RowsMachine, Sinks
from tests.machine.of_rows.rows_world import RowsWorld

_ROOT = Path(__file__).parents[3]
_MAIN = Path(graph_compiler.__file__).parent / "spark_runtime" / "main.py"
_HOSTS: Mapping[str, Mapping[str, str]] = {
    "Vienna": {"TZ": "Europe/Vienna"},
    "Turkish in Kathmandu": {
        "TZ": "Asia/Kathmandu",
        "LC_ALL": "tr_TR.UTF-8",
        "JAVA_TOOL_OPTIONS": "-Duser.language=tr -Duser.country=TR -Dfile.encoding=ISO-8859-9",
    },
    "Los Angeles": {"TZ": "America/Los_Angeles", "LC_ALL": "C"},
}
_KEYS = ("timestamp", "local time", "date", "text")
_CHOOSING = frozenset({"any of a key", "limit", "top"})
"""Operators whose rows may differ between two runs."""
_OF_SESSION = ("lookup in a table", "lookup in rows that change")
_SOURCES_OF_SESSION = ("lenient", "table")
"""Operators and sources that read what only this session has, not the drivers of hosts."""


class HostsMachine(RowsMachine):
    """One pipeline, run on a host in UTC and on another one."""

    host = ""
    has_old_days_in_orc = True

    @initialize(
        key=drawn("key", _KEYS),
        source=drawn("source", ("orc", "orc", "csv", "parquet", "json")),
        rows=ROWS,
        first=st.integers(0, 40),
        host=st.sampled_from(sorted(_HOSTS)),
    )
    def begin(self, key: str, source: str, rows: list[Row], first: int, host: str) -> None:
        """Start with one source."""
        self.host = host
        self.start(RowsWorld(type(self).session(), None, KEYS[key]), source, rows, first)

    def check(self) -> str | None:
        """Return how the rows of the two hosts differ."""
        world = self.there()
        varies = any(made.how in _CHOOSING or made.condition == VARYING for made in world.made)
        if not world.sinks or varies:
            return None
        found = {host: self._rows_on(host) for host in ("UTC", self.host)}
        if found["UTC"] == found[self.host]:
            return None
        return f"in UTC: {found['UTC']}\n{self.host}: {found[self.host]}"

    def _apply(self, operation: str, of: tuple[int, ...], n: int, sinks: Sinks) -> None:
        if operation not in _OF_SESSION:
            super()._apply(operation, of, n, sinks)

    def _read(self, source: str, rows: list[Row]) -> None:
        super()._read("json" if source in _SOURCES_OF_SESSION else source, rows)

    def _rows_on(self, host: str) -> dict[str, Counter[object]]:
        """Run the pipeline in a driver's process; return the rows of its sinks, keys as text."""
        world, folder = self.there(), self.there().folder / host.replace(" ", "_")
        env, names = world.declare((), {}), []
        for stream, rows in enumerate(world.streams):
            if (stream, ("k", "v")) in world.sinks:
                names.append(f"out_{stream}")
                texts = rows.select("v", k="CAST(k AS STRING)", d="CAST(to_date(k) AS STRING)")
                if world.key is KEYS["text"]:
                    texts = rows.select("v", k="k", d="concat(lower(k), upper(k))")
                texts.sink_to(Parquet(f"{folder}/{names[-1]}")).name(names[-1])
        if not names:
            return {}
        run = DeskRun(day="2024-03-31", params={}, run_id="r", staging_root=f"{folder}/staging")
        descriptors = []
        for region in describe_regions(compile_pipeline(env.pipeline())):
            task = desk_task(region, run, execution_id="e")
            mark(task)
            descriptor = Path(task.layout.descriptor(region.region_id, "e"))
            descriptor.parent.mkdir(parents=True)
            descriptor.write_text(task.to_json())
            descriptors.append(str(descriptor))
        settings = "--master local[1] --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2 pyspark-shell"
        variables = {"TZ": "UTC", "SPARK_SUBMIT_OPTS": SHORT_LIVED, "PYSPARK_SUBMIT_ARGS": settings}
        package = str(Path(graph_compiler.__file__).parents[1])
        done = subprocess.run(
            [sys.executable, str(_MAIN), *descriptors],
            env={
                **{k: v for k, v in os.environ.items() if k != "GRAPH_COMPILER_HOST_ZONE"},
                **variables,
                **_HOSTS.get(host, {}),
                "PYTHONPATH": f"{package}:{_ROOT}",
            },
            capture_output=True,
            text=True,
            errors="replace",
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{host}: {done.stdout[-1500:]}{done.stderr[-1500:]}"
        return {name: _rows_in(folder / name) for name in names}


def _rows_in(folder: Path) -> Counter[object]:
    found: Counter[object] = Counter()
    for file in folder.glob("*.parquet"):
        rows = parquet.ParquetFile(file).read().to_pylist()
        found.update((row["k"], row["v"], row["d"]) for row in rows)
    return found
