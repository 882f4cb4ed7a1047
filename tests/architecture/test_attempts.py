"""What happened to an attempt is read in one room, and why it did not finish has one order."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import graph_compiler

PACKAGE = Path(graph_compiler.__file__).parent
ROOM = PACKAGE / "staging" / "attempts"
LAYOUT = "graph_compiler.deployment.documents.staging_layout"
NAMES = frozenset({"DESCRIPTOR", "DISCARDED", "DRIVER", "KEPT", "OUTCOME", "PROGRESS", "REPORT", "SUBMISSION"})
"""The names of an attempt's documents."""
KEYS = frozenset({"descriptor", "driver", "outcome", "progress", "report", "submission"})
"""The methods of a layout that return their keys."""
DOCUMENTS = frozenset(
    {"DriverClaim", "ExecutionProgress", "ExecutionReport", "KeptExecution", "Outcome"}
    | {"Submission", "TaskDeploymentDescriptor"}
)
READERS = frozenset({"decode", "from_json", "from_wire", "get_document"})
OTHERS = {
    "airflow_backend/task/task_summary.py": "a sentence names the file with the whole report",
    "airflow_backend/web/runs/attempts.py": "a listing shows whether documents have changed",
    "cli/commands/replay.py": "it replaces arguments of a command, and shows what its own driver left",
    "staging/gc/survey.py": "a listing shows which folders are runs, and counts attempts",
}
"""Modules outside of the room that name a document, and why."""


def mentions(tree: ast.AST) -> Iterator[str]:
    """Yield the documents of attempts that a module names, or whose keys or values it asks for itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == LAYOUT:
            yield from (each.name for each in node.names if each.name in NAMES)
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if isinstance(called, ast.Attribute) and name in KEYS and is_layout(called.value):
            yield ast.unparse(called)
        if name in READERS:
            owner = [called.value] if isinstance(called, ast.Attribute) else []
            for given in (*owner, *node.args):
                if ast.unparse(given) in DOCUMENTS:
                    yield f"{name} of {ast.unparse(given)}"


def is_layout(node: ast.expr) -> bool:
    return ast.unparse(node).rpartition(".")[2].endswith("layout")


def test_the_documents_of_an_attempt_are_read_in_one_room() -> None:
    found = {
        str(module.relative_to(PACKAGE)): [*mentions(ast.parse(module.read_text()))]
        for module in PACKAGE.rglob("*.py")
        if ROOM not in module.parents
    }
    assert {module for module, those in found.items() if those} == set(OTHERS)


@pytest.mark.parametrize(
    "text",
    [
        f"from {LAYOUT} import REPORT, StagingLayout",
        "store.get(task.layout.report(region_id, id))",
        "store.is_there(layout.outcome(region_id, id))",
        "get_document(store, key, ExecutionReport, version=4)",
        "from_wire(Outcome, document)",
        "ExecutionReport.from_json(text)",
        "decode(Submission, content, key)",
    ],
)
def test_a_reader_is_noticed(text: str) -> None:
    assert [*mentions(ast.parse(text))] != []


@pytest.mark.parametrize(
    "text",
    [
        f"from {LAYOUT} import StagingLayout",
        "view.report(found)",
        "from_json(PipelineSubmission, text)",
        "layout.manifest(result_id, 0)",
    ],
)
def test_others_are_not(text: str) -> None:
    assert [*mentions(ast.parse(text))] == []


def test_the_order_of_reasons_is_written_once() -> None:
    """A module that compares failure and outcome itself would have an order of its own."""
    deciding = {
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "reason"
        if ast.unparse(node.value).rpartition(".")[2] in ("failure", "_failure", "outcome")
    }
    assert deciding == {"staging/attempts/attempt.py", "staging/results/kept_regions.py"}
