"""`run --in-process` of a pipeline whose function ends the process with exit code 0: the failure is reported."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.conftest import ROOT, Home

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,  # tests/spark/failures/test_ending_functions.py ends drivers in more ways
]

PIPELINE = """
from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from pipelines.functions import ends

env = StreamExecutionEnvironment("ends")
rows = env.from_source(Values([(1,)], "x INT"), "in").transform(ends).name("bad")
rows.sink_to(Parquet({target!r})).name("out")
"""


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("sys.exit(0)", "operator 'bad': its function ended the program, as sys.exit(0) does"),
        ("os._exit(0)", "region 'out': Spark's driver died without a report"),
    ],
)
def test_a_function_that_exits_with_0_is_a_failure(ending: str, words: str, home: Home, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "pipelines").mkdir(parents=True)
    (project / "pipelines" / "functions.py").write_text(f"import os, sys\n\ndef ends(rows):\n    {ending}\n")
    (project / "pipelines" / "ends.py").write_text(PIPELINE.format(target=f"{tmp_path}/out"))
    done = subprocess.run(
        [sys.executable, "-m", "graph_compiler", "run", "ends", "--in-process"],
        cwd=project,
        env=home.environment() | {"PYTHONPATH": os.pathsep.join([str(project), f"{ROOT}/plugins"])},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert words in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert not (tmp_path / "out").exists()
