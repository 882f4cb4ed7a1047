"""Many runs at once, and many pipelines. It prints the figures of docs/benchmarks.md."""

from __future__ import annotations

import json
import time

import pytest

from tests.compose.deployment import Deployment
from tests.harness.standalone import until

pytestmark = pytest.mark.compose

RUNS = 50
PIPELINES = 200
PIPELINE = """
name: load_{number}
schedule: {{cron: "{minute} 3 * * *", start: 2026-01-01}}
params:
  output: {{default: output, format: path}}
sources:
  numbers: {{range: 0, end: 10}}
steps:
  - {{name: large, from: numbers, filter: id > {number}}}
  - stage: it is read twice
sinks:
  all: {{from: large, sink_to: {{parquet: "{{{{ params.output }}}}/load/{number}/all"}}}}
  odd: {{from: large, sink_to: {{parquet: "{{{{ params.output }}}}/load/{number}/odd"}}}}
"""
MOST_GROWTH = 1.5
"""How many times the database may grow in the second half of the runs, compared with the first half."""


def test_runs_that_are_queued_at_once_end_with_exact_results(deployment: Deployment) -> None:
    dag, sizes = "small_numbers", [_database_bytes(deployment)]
    begin = time.monotonic()
    ids = [deployment.trigger(dag, label=f"load {number}") for number in range(RUNS)]
    for half in (ids[: RUNS // 2], ids[RUNS // 2 :]):
        for run_id in half:
            assert deployment.end_of(dag, run_id, seconds=7200) == "success"
        sizes.append(_database_bytes(deployment))
    seconds = time.monotonic() - begin
    for number in range(RUNS):
        assert deployment.numbers(dag, f"load {number}") == [*range(100)]
    kept = _staging(deployment, ids)
    print(f"\n{RUNS} runs: {seconds:.0f} s; database {[size >> 10 for size in sizes]} KiB; staging {kept}")
    assert kept["runs"] == RUNS
    assert kept["results"] == RUNS, "one each, until `staging gc` finds its run old enough"
    first, second = sizes[1] - sizes[0], sizes[2] - sizes[1]
    assert second <= MOST_GROWTH * max(first, 1 << 20)


def test_many_pipelines_are_parsed_within_the_limits(deployment: Deployment) -> None:
    folder = deployment.folder / "pipelines"
    files = [folder / f"load_{number}.yaml" for number in range(PIPELINES)]
    for number, file in enumerate(files):
        file.write_text(PIPELINE.format(number=number, minute=number % 60))
    begin = time.monotonic()
    try:
        until(lambda: _loaded(deployment) == PIPELINES, "all pipelines", seconds=600)
        seconds = time.monotonic() - begin
        errors = deployment.ask("GET", "/api/v2/importErrors?limit=1")["total_entries"]
        path = f"/api/v2/dags/load_{PIPELINES - 1}/details"
        duration = deployment.ask("GET", path)["last_parse_duration"]
        print(f"\n{PIPELINES} pipelines: there after {seconds:.0f} s, parsed in {duration:.1f} s")
        assert errors == 0
        assert duration < float(
            deployment.execute("airflow-scheduler", "airflow", "config", "get-value", "core", "dagbag_import_timeout")
        )
    finally:
        for file in files:
            file.unlink()


def _loaded(deployment: Deployment) -> int:
    path = "/api/v2/dags?dag_id_pattern=load_&limit=1"
    return int(deployment.ask("GET", path)["total_entries"])


def _database_bytes(deployment: Deployment) -> int:
    query = "SELECT pg_database_size('airflow')"
    words = ("psql", "--username", "airflow", "--dbname", "airflow", "--tuples-only", "-c", query)
    return int(deployment.execute("postgres", *words))


def _staging(deployment: Deployment, ids: list[str]) -> dict[str, int]:
    """Return how many of these runs are in the staging root, their staged results, and their bytes."""
    said = deployment.execute("airflow-scheduler", "graph-compiler", "staging", "list", "--json")
    runs = [run for run in json.loads(said) if run["run_id"] in ids]
    return {
        "runs": len(runs),
        "results": sum(len(run["results_kept"]) for run in runs),
        "bytes": sum(run["bytes"] for run in runs),
    }
