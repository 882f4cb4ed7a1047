"""The rows that `graph-compiler run` shows of a target, which may have those of earlier runs, too."""

from pathlib import Path

import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.cli.running import finished_run
from graph_compiler.cli.running.finished_run import published_preview
from graph_compiler.cli.running.first_rows import FirstRows
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.documents.report import Output

pytestmark = pytest.mark.installed


def test_it_counts_the_rows_of_the_target_and_reads_no_large_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    from pyarrow import parquet

    for number in range(2):
        parquet.write_table(pyarrow.table({"n": [number, 10 + number]}), tmp_path / f"{number}.parquet")
    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(1,)], "n INT"), "in").sink_to(Parquet(str(tmp_path)), mode="append").name("out")
    compiled = compile_pipeline(env.pipeline())
    published = Output(kind="sink", name="out", location=str(tmp_path), rows=1, bytes=9)
    found = published_preview(compiled, [published], "n")
    assert isinstance(found, FirstRows)
    assert (found.total, list(found.rows)) == (4, [(11,), (10,), (1,), (0,)])
    monkeypatch.setattr(finished_run, "PREVIEW_BYTES", 9)
    assert published_preview(compiled, [published], "n") is None
