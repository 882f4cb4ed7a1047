"""A compiled pipeline becomes a document in one room; text, pictures, pages and comparisons read that (decision 65)."""

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import graph_compiler

PACKAGE = Path(graph_compiler.__file__).parent
ROOM = PACKAGE / "explain" / "plan"
GRAPHS = frozenset(
    {"CompiledPipeline", "Deployment", "DeploymentRegion", "ExecutionGraph", "ExecutionJobVertex", "JobEdge"}
    | {"JobGraph", "JobVertex", "StreamEdge", "StreamGraph", "StreamNode"}
)
"""The compiled values; their parts that are plain, as `DeploymentTask`, are also parts of a plan."""
FIELDS = frozenset({"execution_graph", "job_graph", "stream_graph"})
"""The fields of a compiled pipeline that a module can read without naming a type."""
ENCODERS = frozenset({"Json", "digest", "json", "plain_json", "to_json", "to_wire"})
WRITERS: Mapping[str, str] = {
    "cli/commands/dry_run.py": "the findings of Spark; of graphs, it asks for the number of operators",
    "cli/commands/validate.py": "problems; of graphs, it looks at the places of sinks",
    "declaration/environment.py": "get_execution_plan, which is Flink's document",
    "deployment/describe/fingerprints.py": "digests, and what they cover",
    "deployment/describe/region_descriptors.py": "descriptors, which are all that a driver knows; the plan's id",
    "explain/documents/graph_json.py": "Flink's documents, which are compared with Flink's; subtasks are listed there",
    "explain/render.py": "it chooses between the plan and Flink's documents",
}
"""Modules outside of the room that read compiled graphs and encode something, and what that is."""
READ_BACK = {"airflow_backend/dag/plan_document.py", "cli/arguments/versions.py"}
"""Modules that read the document of a plan, as it was written in a Dag or by another process."""


def reads_graphs(tree: ast.AST) -> bool:
    """Whether a module imports a type of compiled graphs, or reads a field that has one."""
    return any(
        (isinstance(node, ast.ImportFrom) and any(each.name in GRAPHS for each in node.names))
        or (isinstance(node, ast.Attribute) and node.attr in FIELDS)
        for node in ast.walk(tree)
    )


def encodes(tree: ast.AST) -> bool:
    """Whether a module imports what makes a document."""
    return any(
        isinstance(node, ast.Import | ast.ImportFrom) and any(each.name in ENCODERS for each in node.names)
        for node in ast.walk(tree)
    )


def decodes_a_plan(tree: ast.AST) -> bool:
    """Whether a module decodes the document of a plan, or what is compared of it."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(
        ast.unparse(call.func) == "PlanDocument.of" or "PlanSummary" in map(ast.unparse, call.args[:1])
        for call in calls
    )


def found(*rules: Callable[[ast.AST], bool], folder: Path = PACKAGE) -> set[str]:
    return {
        str(module.relative_to(PACKAGE))
        for module in folder.rglob("*.py")
        if ROOM not in module.parents and all(rule(ast.parse(module.read_text())) for rule in rules)
    }


def test_compiled_graphs_become_documents_in_few_modules() -> None:
    assert found(reads_graphs, encodes) == set(WRITERS)


def test_what_is_shown_of_a_pipeline_is_read_from_its_plan() -> None:
    shown = found(reads_graphs, folder=PACKAGE / "explain")
    assert shown == {"explain/documents/graph_json.py", "explain/render.py"}


def test_the_document_of_a_plan_is_read_in_one_place() -> None:
    assert found(decodes_a_plan) == READ_BACK


@pytest.mark.parametrize(
    "text",
    [
        "from graph_compiler.graphs.job_graph import JobEdge",
        "from graph_compiler.graphs.compiled_pipeline import CompiledPipeline as C",
        "[vertex.id for vertex in compiled.job_graph.vertices]",
    ],
)
def test_a_reader_of_graphs_is_noticed(text: str) -> None:
    assert reads_graphs(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    ["import json", "from graph_compiler.deployment.documents.wire import Json", "from wire import digest, to_wire"],
)
def test_a_writer_of_documents_is_noticed(text: str) -> None:
    assert encodes(ast.parse(text))


@pytest.mark.parametrize("text", ["PlanDocument.of(json.loads(text))", "from_wire(PlanSummary, document)"])
def test_a_reader_of_a_plan_is_noticed(text: str) -> None:
    assert decodes_a_plan(ast.parse(text))


@pytest.mark.parametrize(
    "text", ["explain_text(plan)", "plan.view", "from_wire(ResultSummary, document)", "jobs.graph"]
)
def test_a_view_of_a_plan_is_neither(text: str) -> None:
    tree = ast.parse(text)
    assert not reads_graphs(tree)
    assert not encodes(tree)
    assert not decodes_a_plan(tree)
