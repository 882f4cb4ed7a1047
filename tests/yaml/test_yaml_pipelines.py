"""The command line finds a YAML pipeline like a module."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler.cli.app import app
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.projects.pipeline_files import load_pipeline

SALES = """\
name: sales
sources: {orders: {csv: /in}}
sinks: {out: {from: orders, sink_to: {parquet: /out}}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipelines").mkdir()
    return tmp_path / "pipelines"


def test_a_file_is_found_by_its_name(folder: Path) -> None:
    (folder / "sales.yaml").write_text(SALES)
    assert load_pipeline("sales").name == "sales"
    shown = CliRunner().invoke(app, ["explain", "sales"])
    assert shown.exit_code == 0
    assert "Source: orders -> Sink: out" in shown.output


def test_an_unknown_name_is_reported_with_the_known_names(folder: Path) -> None:
    (folder / "sales.yaml").write_text(SALES)
    with pytest.raises(InvalidPipelineError, match=r"neither pipelines/sale.py nor .*\n.*\n.*'sales'"):
        load_pipeline("sale")


def test_duplicate_pipeline_names_are_refused(folder: Path) -> None:
    (folder / "flights.yaml").write_text(SALES)
    with pytest.raises(InvalidPipelineError, match="there are pipelines/flights.py and"):
        load_pipeline("flights")


def test_a_mistake_exits_with_2_and_names_its_line(folder: Path) -> None:
    (folder / "sales.yaml").write_text(SALES.replace("from: orders", "from: order"))
    shown = CliRunner().invoke(app, ["explain", "sales"])
    assert shown.exit_code == 2
    assert "sinks.out.from: there is no stream called 'order'" in shown.output
    assert "hint: did you mean 'orders'?" in shown.output
    assert "declared at pipelines/sales.yaml:3:" in shown.output
