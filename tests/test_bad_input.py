"""Declarations with a mistake, met through the command line: words, exit code 2, no traceback, nothing written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAD = """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
"""

MISTAKES = {
    "two operators with one uid": (
        'orders.filter("x").name("a").uid("u").filter("y").name("b").uid("u").sink_to(Parquet("/out"))',
        [
            "pipeline 'sales' has 1 problem",
            "b: its uid 'u' is already that of 'a'",
            "hint: a uid is the identity",
        ],
    ),
    "a lambda": (
        'orders.transform(lambda rows: rows).sink_to(Parquet("/out"))',
        [
            "pipeline 'sales' has 1 problem",
            "behind 'orders': transform cannot take this function: a lambda has no name",
            "hint: move it to a module",
        ],
    ),
    "a cycle": (
        "from dataclasses import replace\n"
        'a = orders.filter("x").name("a")\n'
        'b = a.filter("y").name("b")\n'
        "env.add(replace(env.transformation(a.id), inputs=(b.id,)))\n"
        'b.sink_to(Parquet("/out"))',
        [
            "pipeline 'sales' has 1 problem",
            "it reads its own output: ",
            "hint: a dataflow goes one way",
        ],
    ),
    "a slip of the pen": (
        'orders.keyby("x")',
        [
            "pipeline 'sales' cannot be loaded",
            "sales.py:5: orders.keyby(",
            "has no attribute 'keyby'",
        ],
    ),
    "nothing declared": ("", ["No operators defined in streaming topology. Cannot execute."]),
    "an unknown option": (
        'env = StreamExecutionEnvironment("sales", config={"paralelism.default": 2})\n'
        'env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))',
        ["there is no option 'paralelism.default'", "did you mean 'parallelism.default'?"],
    ),
}


@pytest.mark.parametrize(("body", "words"), MISTAKES.values(), ids=MISTAKES.keys())
@pytest.mark.parametrize("command", ["explain", "run"])
def test_a_mistake_is_told_in_words(
    command: str, body: str, words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "sales.py").write_text(HEAD + body)
    done = subprocess.run(
        [sys.executable, "-m", "graph_compiler", command, "sales"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'plugins'}",
            "AIRFLOW_HOME": str(tmp_path / "home"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    for sentence in words:
        assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "home").exists()
