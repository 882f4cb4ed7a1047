"""The recipe of a store in CONTRIBUTING.md, followed in a package outside of ours: places `box://shelf/box`."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT, Home
from tests.harness.reference import assert_same_rows, published

pytestmark = [pytest.mark.e2e, pytest.mark.ci]
ACME = ROOT / "tests" / "recipes" / "acme"
PIPELINE = """
name: boxed
sources:
  words: {csv: FOLDER/words.csv, schema: "word STRING, times INT"}
steps:
  - {name: often, from: words, filter: times > 1}
  - {stage: the test reads it below the staging root, as: kept}
sinks:
  counted: {from: kept, sink_to: {parquet: "box://shelf/out/words"}, mode: overwrite}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return the folder of a project whose pipeline publishes to a box."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "boxed.yaml").write_text(PIPELINE.replace("FOLDER", str(tmp_path)))
    (tmp_path / "words.csv").write_text("word,times\na,1\nb,2\nc,3\n")
    return tmp_path


@pytest.fixture
def environment(project: Path) -> Mapping[str, str]:
    """Return the variables of a project whose staging root is in a box."""
    extra = {"folder": f"{project}/shelves", "boxes": ["shelf/out", "shelf/staging"]}
    return Home(project / "airflow").environment(
        PYTHONPATH=os.pathsep.join([str(ACME), str(ROOT / "plugins"), str(ROOT)]),
        AIRFLOW__GRAPH_COMPILER__STAGING_ROOT="box://shelf/staging",
        AIRFLOW__GRAPH_COMPILER__STAGING_CONN_ID="boxes",
        AIRFLOW_CONN_BOXES=json.dumps({"conn_type": "box", "extra": extra}),
        AIRFLOW__GRAPH_COMPILER__SPARK_CONF=json.dumps(
            {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
        ),
    )


def cli(project: Path, environment: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "graph_compiler", *arguments],
        cwd=project,
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def test_a_pipeline_stages_and_publishes_there(project: Path, environment: Mapping[str, str]) -> None:
    """The second run replaces what the first has published; no file of the product knows the scheme."""
    for command in (["validate", "boxed"], ["explain", "boxed"]):
        done = cli(project, environment, *command)
        assert done.returncode == 0, done.stdout + done.stderr
    for day in ("2026-01-01", "2026-01-02"):
        done = cli(project, environment, "run", "boxed", "--in-process", "--date", day, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        (sink,) = json.loads(done.stdout)["sinks"]
        assert (sink["rows"], sink["path"]) == (2, "box://shelf/out/words")
    target, root = project / "shelves" / "shelf" / "out", project / "shelves" / "shelf" / "staging"
    assert_same_rows(published(target / "words"), (["word", "times"], [("b", 2), ("c", 3)]))
    assert [path.name for path in target.iterdir()] == ["words"], "nothing is left beside the target"
    assert len(list(root.glob("boxed/*/manifests/*/0.json"))) == 2
    assert len(list(root.glob(".targets/*/*.done.json"))) == 2
    history = cli(project, environment, "history", "boxed", "in_process__2026-01-02", "--json")
    assert history.stdout.count('"FINISHED"') >= 2, history.stderr
    removed = cli(project, environment, "staging", "gc", "--older-than", "1 h", "--json")
    assert removed.returncode == 0, removed.stderr
