"""What a region repeats if it fails at its end, and what is staged for it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.app import app
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.documents.wire import from_wire, to_json
from graph_compiler.explain.documents.plan_json import deployment_json
from graph_compiler.explain.plan.plan import FailureCost
from graph_compiler.explain.plan.plan_writer import failure_costs, plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.identifiers import RegionId
from pipelines.flights import env as flights
from tests.conftest import expensive_and_checked, staged_detour


def test_a_region_repeats_its_own_operators_and_reads_the_others_again() -> None:
    """A ─┬▒▶ C ─▶ B ─▶ out; the direct edge A ▒▶ B is staged as well, and is the same result."""
    costs = failure_costs(compile_pipeline(staged_detour().pipeline()))
    assert list(costs.values()) == [
        FailureCost(region=RegionId("A"), repeated=("a", "A"), expensive=(), reread=(), spared=0),
        FailureCost(region=RegionId("out"), repeated=("C", "B", "out"), expensive=(), reread=("A",), spared=2),
    ]


def test_a_side_output_that_is_read_again_is_named_by_its_tag(env: StreamExecutionEnvironment) -> None:
    split = env.from_source(Csv("/in"), "in").filter("x", rejects="rest").name("split")
    split.get_side_output("rest").stage("dear").select("x").sink_to(Parquet("/rest")).name("rest")
    split.sink_to(Parquet("/kept")).name("kept")
    costs = failure_costs(compile_pipeline(env.pipeline()))
    assert costs[RegionId("rest")].reread == ("split.rest",)
    assert costs[RegionId("rest")].spared == 2


def test_an_expensive_operator_that_a_failure_repeats_is_named(env: StreamExecutionEnvironment) -> None:
    rows = env.from_source(Csv("/in"), "in").filter("x").name("scored").expensive()
    rows.sink_to(Parquet("/out")).name("out")
    text = explain_text(plan_of(compile_pipeline(env.pipeline())))
    assert text.endswith("a failure at its end repeats all 3 operators (scored is expensive)")


def test_the_document_has_tasks_with_their_costs_and_cuts_with_their_reasons() -> None:
    compiled = compile_pipeline(expensive_and_checked().pipeline())
    document = json.loads(to_json(deployment_json(plan_of(compiled))))
    regions = [region for task in document["tasks"] for region in task["regions"]]
    costs = [from_wire(FailureCost, region["failure_cost"]) for region in regions]
    assert costs == list(failure_costs(compiled).values())
    assert [(task["task"], [region["region"] for region in task["regions"]]) for task in document["tasks"]] == [
        ("scored", ["scored", "clean", "by_day", "by_user"])
    ]
    assert document["apart"] == []
    assert document["operators"] == 8
    assert {
        (cut["result"], cut["reader"], cut["from_task"], cut["to_task"], cut["reason"]) for cut in document["staged"]
    } == {
        ("scored", "amounts_hold", "scored", "scored", "EXPENSIVE"),
        ("clean", "total_day", "scored", "scored", "CONTRACT"),
        ("clean", "total_user", "scored", "scored", "CONTRACT"),
    }


def test_the_command_prints_the_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    printed = CliRunner().invoke(app, ["explain", "flights", "--json"])
    assert json.loads(printed.stdout) == deployment_json(plan_of(compile_pipeline(flights.pipeline())))
    both = CliRunner().invoke(app, ["explain", "flights", "--json", "--spark"])
    assert both.exit_code == 2
