"""The TypeScript types of the documents match what Python writes."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.explain.diff.plan_diff import plan_diff
from graph_compiler.explain.diff.plan_diff_text import diff_json
from pipelines.flights import env as flights
from tests.harness.compiled_graphs import summary_of
from tests.view_documents import TARGET, Declarations, view_documents

DEFINED = view_documents()


def keys_of(interface: str) -> set[str]:
    """Return the keys of an interface of the file."""
    body = DEFINED.split(f"export interface {interface} {{\n")[1].split("\n}")[0]
    return {line.strip().split(":")[0] for line in body.splitlines()}


def test_the_committed_file_is_up_to_date() -> None:
    assert TARGET.read_text() == view_documents(), "run `python -m tests.view_documents`"


def test_a_plan_has_the_keys_of_its_typescript_type() -> None:
    golden = Path(__file__).parents[1] / "golden" / "view_plans"
    for file in golden.glob("flights.*.json"):
        plan = json.loads(file.read_text())
        assert set(plan) == keys_of("ViewPlan")
        for interface, part in (("Operator", "operators"), ("JobEdge", "edges"), ("Region", "regions")):
            assert all(set(each) == keys_of(interface) for each in plan[part])


def test_a_comparison_has_the_keys_of_its_typescript_type() -> None:
    compiled = compile_pipeline(flights.pipeline())
    summary = summary_of(compiled)
    document = diff_json(plan_diff(summary, replace(summary, pipeline="other")))
    assert set(document) - {"type"} == keys_of("PlanDiff")


def test_a_type_without_a_typescript_form_is_refused() -> None:
    @dataclass
    class Odd:
        field: bytes

    with pytest.raises(TypeError, match="bytes"):
        Declarations().type_text(Odd)
