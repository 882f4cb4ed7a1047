"""A plan in a separate page: it can be read back, and is only data to a browser."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.app import app
from graph_compiler.cli.commands import explain
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.explain.documents.page import MARKER, PageNotBuiltError, plan_page
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.render import Format, render
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline

EVIL = "</script><script>alert(1)</script><!--<script>"


class Scripts(HTMLParser):
    """Collects what a browser treats as the content of script elements."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._is_inside = False

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        self._is_inside = tag == "script"

    def handle_endtag(self, _tag: str) -> None:
        self._is_inside = False

    def handle_data(self, data: str) -> None:
        if self._is_inside:
            self.found.append(data)


def named(name: str) -> CompiledPipeline:
    env = StreamExecutionEnvironment("p", description=name)
    env.from_source(Csv("/in"), "rows").stage(name).sink_to(Parquet("/out")).name("out")
    return compile_pipeline(env.pipeline())


PAGE = f"<!doctype html><html><body>{MARKER}<p>behind</p></body></html>"


def test_the_plan_is_in_the_page_as_data_whatever_its_names_are() -> None:
    scripts = Scripts()
    scripts.feed(plan_page(plan_of(named(EVIL)), PAGE))
    (document,) = scripts.found
    assert json.loads(document)["description"] == EVIL
    assert "<" not in document


def test_undeployable_pipelines_have_a_page() -> None:
    env = StreamExecutionEnvironment("p", config={"execution.runtime-mode": "STREAMING"})
    env.from_source(Csv("/in"), "rows", unbounded=True).sink_to(Parquet("/out"))
    assert '"plan_id":null' in render(compile_pipeline(env.pipeline()), None, Format.HTML, PAGE)


def test_a_missing_build_is_reported() -> None:
    with pytest.raises(PageNotBuiltError, match="not built"):
        plan_page(plan_of(named("p")), "")


def test_the_command_writes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    monkeypatch.setattr(explain, "_page", lambda: PAGE)
    done = CliRunner().invoke(app, ["explain", "pipelines/flights.py", "--format", "html"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("<!doctype html>")
    both = ["explain", "pipelines/flights.py", "--format", "html", "--graph", "job"]
    assert CliRunner().invoke(app, both).exit_code == 2
