"""List the suites that are run by hand, and are older than what they test, oldest first: `make stale`.

    make test-yarn       2026-11-23    212 commits since    airflow_backend, spark_runtime, tests/yarn

The day of a suite's last run is in the table of CONTRIBUTING.md; `at` a commit, if it is known which one ran.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PACKAGE = "plugins/graph_compiler"
_BOTH_SIDES = tuple(f"{_PACKAGE}/{room}" for room in ("airflow_backend", "spark_runtime", "staging", "deployment"))
_PUBLISHING = tuple(
    f"{_PACKAGE}/{room}" for room in ("staging", "spark_runtime/connectors", "spark_runtime/publishing")
)
_LAKE = (
    f"{_PACKAGE}/lake_metadata",
    f"{_PACKAGE}/spark_runtime/connectors/lake",
    f"{_PACKAGE}/spark_runtime/spark_internals/iceberg_tables.py",
    f"{_PACKAGE}/spark_runtime/spark_internals/delta_tables.py",
    f"{_PACKAGE}/spark_runtime/spark_internals/iceberg_maintenance.py",
    f"{_PACKAGE}/spark_runtime/publishing/merging.py",
    f"{_PACKAGE}/spark_runtime/table_maintenance.py",
    f"{_PACKAGE}/staging/gc/table_needs.py",
    f"{_PACKAGE}/staging/publications",
    "tests/lake",
)
_STREAMS = (
    f"{_PACKAGE}/spark_runtime/region",
    f"{_PACKAGE}/spark_runtime/streams",
    f"{_PACKAGE}/staging/publications",
    f"{_PACKAGE}/staging/streams",
    "tests/spark/streams",
)
SUITES: Mapping[str, Sequence[str]] = {
    "make test-long": (_PACKAGE, "pipelines", "benchmarks"),
    "make test-cluster": (*_BOTH_SIDES, "tests/cluster"),
    "make test-yarn": (*_BOTH_SIDES, "tests/yarn"),
    "make test-kubernetes": (*_BOTH_SIDES, "tests/kubernetes"),
    "make test-openlineage": (
        f"{_PACKAGE}/airflow_backend/notify",
        f"{_PACKAGE}/staging/attempts",
        "tests/openlineage",
    ),
    "make test-objects": (
        *_PUBLISHING,
        f"{_PACKAGE}/object_stores",
        f"{_PACKAGE}/spark_runtime/stores",
        "tests/object_stores",
    ),
    "make test-hdfs": (*_PUBLISHING, f"{_PACKAGE}/webhdfs", f"{_PACKAGE}/spark_runtime/stores", "tests/hdfs"),
    "make test-kafka": (
        f"{_PACKAGE}/spark_runtime/connectors/arriving",
        f"{_PACKAGE}/spark_runtime/spark_internals/kafka_admin.py",
        f"{_PACKAGE}/spark_runtime/region",
        f"{_PACKAGE}/spark_runtime/streams",
        "tests/kafka",
    ),
    "make test-lake": _LAKE,
    "make test-lake-kills": _LAKE,
    "make test-stream-kills": _STREAMS,
    "make test-kafka-kills": _STREAMS,
    "make test-lake-stream-kills": (*_STREAMS, *_LAKE),
    "make test-stream-cost": _STREAMS,
    "make test-lake-machine": (*_LAKE, "tests/machine"),
    "make test-lake-cost": _LAKE,
    "make test-matrix": (
        f"{_PACKAGE}/spark_runtime/spark_internals",
        f"{_PACKAGE}/deployment/describe/airflow_versions.py",
        "requirements-spark-4.1.lock",
        "requirements-spark-4.2.lock",
        "requirements-airflow-3.2.lock",
    ),
    "make test-compose": (
        f"{_PACKAGE}/airflow_backend",
        "docker-compose.yaml",
        "Dockerfile",
        "containers",
        "tests/compose",
    ),
    "make test-faults": (*_BOTH_SIDES, "tests/faults"),
    "make test-faults-in-bucket": (*_BOTH_SIDES, f"{_PACKAGE}/object_stores", "tests/faults"),
    "make test-faults-in-hdfs": (*_BOTH_SIDES, f"{_PACKAGE}/webhdfs", "tests/faults"),
    "make test-machine": (*_PUBLISHING, f"{_PACKAGE}/spark_runtime", "tests/machine"),
    "make test-mends": (_PACKAGE, "tests/machine/mended_faults.py"),
}
"""What each suite tests."""


@dataclass(frozen=True, order=True)
class LastRun:
    """When a suite was run last, and at which commit, if that is known."""

    day: str
    suite: str
    commit: str | None = None

    @classmethod
    def all_of(cls, text: str) -> tuple[LastRun, ...]:
        """Return the last runs in the table of CONTRIBUTING.md, oldest first."""
        row = re.compile(r"^\| `(.+?)` \| by hand.*? \| ([\d-]+)(?: at ([0-9a-f]+))? \|$", re.MULTILINE)
        found = (cls(day, suite, commit or None) for suite, day, commit in row.findall(text))
        return tuple(sorted(one for one in found if one.suite in SUITES))

    def commits_since(self) -> int:
        """Return how many commits have changed what it tests."""
        since = [f"{self.commit}..HEAD"] if self.commit else [f"--since={self.day} 00:00", "HEAD"]
        return int(_git("rev-list", "--count", *since, "--", *SUITES[self.suite]))


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> int:
    """Print the suites; return 1 if one is older than what it tests."""
    runs = LastRun.all_of((ROOT / "CONTRIBUTING.md").read_text())
    stale = [(run, commits) for run in runs if (commits := run.commits_since())]
    for run, commits in stale:
        paths = ", ".join(path.removeprefix(f"{_PACKAGE}/") for path in SUITES[run.suite])
        print(f"{run.suite:28} {run.day}  {commits:4} commits since  {paths}")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
