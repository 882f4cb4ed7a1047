"""The rules of the house: deep modules, names that occur once, no circles; exceptions by name, with the reason."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import graph_compiler

PACKAGE = Path(graph_compiler.__file__).parent
OWN = "graph_compiler."
SMALL, LARGE, FULL = 60, 600, 15
SPLINTERS = {
    "airflow_backend.dag.restart_policy": "Airflow 3.2 does not have what it extends",
    "cli.warming.warm_up_pipeline": "a pipeline that a process of its own runs",
    "compiler.checks.run_checks": "checks are listed by their modules",
}
"""Small modules with one importer in their room that stay, and why."""
LARGE_MODULES: Mapping[str, str] = {}
FULL_ROOMS = {
    "declaration/connectors": "a module for each connector, and the grammars of their texts",
    "deployment/documents": "a module for each document that crosses between processes",
    "spark_runtime/connectors": "a module for each kind of source and sink, and for what their records are checked by",
    "spark_runtime/spark_internals": "a module for each part of Spark's private API",
}
_COMMAND = "a command, or a route, is a function with the word that a user types"
SHARED_NAMES = {
    "main": "each program has one",
    **dict.fromkeys(("cancel", "discard", "dry_run", "result", "run"), _COMMAND),
    "carry_out": "of files, and of a database's rows",
    "Preparation": "of a sink's files, and of a try",
    "published": "a client's answer, and the events of a task's assets",
    "state_of": "of a table, in the module of each format",
    "run_json": "of a run, and of its documents",
    "unfinished": "applications, and tasks",
}
"""Public names that stand in several modules, and why."""


@cache
def modules() -> Mapping[str, ast.Module]:
    """Return the modules of the package by their dotted names below it."""
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): ast.parse(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def room(module: str) -> str:
    return module.rpartition(".")[0]


def imported(nodes: Iterator[ast.AST]) -> Iterator[str]:
    """Yield the modules of the package that import statements name."""
    for node in nodes:
        if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith(OWN[:-1]):
            continue
        base = str(node.module).removeprefix(OWN[:-1]).lstrip(".")
        for name in (base, *(f"{base}.{each.name}".lstrip(".") for each in node.names)):
            yield from (one for one in (name, f"{name}.__init__".lstrip(".")) if one in modules())


def at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed when a module is imported, and not only what type checkers read."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from at_import(child)


def importers() -> Mapping[str, set[str]]:
    """Return the modules that import each one."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, tree in modules().items():
        for other in imported(ast.walk(tree)):
            found[other].add(name)
    return found


def length(module: str) -> int:
    return len(PACKAGE.joinpath(*module.split(".")).with_suffix(".py").read_text().splitlines())


def test_a_small_module_with_one_importer_stands_in_it() -> None:
    splinters = {
        module
        for module, users in importers().items()
        if not module.endswith("__init__") and length(module) < SMALL
        if {room(user) for user in users} == {room(module)} and len(users) == 1
        if not next(iter(users)).endswith("__init__")
    }
    assert splinters == set(SPLINTERS)


def test_large_modules_and_full_rooms_were_looked_at() -> None:
    assert {module for module in modules() if length(module) > LARGE} == set(LARGE_MODULES)
    sizes: dict[str, int] = defaultdict(int)
    for module in modules():
        if not module.endswith("__init__"):
            sizes[room(module).replace(".", "/")] += 1
    assert {name for name, size in sizes.items() if size > FULL} == set(FULL_ROOMS)


def test_a_public_name_stands_in_one_module() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for module, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                places[node.name].append(module)
    several = {name for name, at in places.items() if len(set(at)) > 1 and not name.startswith("_")}
    assert several == set(SHARED_NAMES)


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        seen, todo = set(), [*graph[start]]
        while todo:
            if (one := todo.pop()) not in seen:
                seen.add(one)
                todo += graph.get(one, ())
        reached[start] = seen
    groups = {frozenset(other for other in graph if other in reached[one] and one in reached[other]) for one in graph}
    return [sorted(group) for group in groups if len(group) > 1]


def test_modules_import_each_other_in_no_circle() -> None:
    graph = {name: set(imported(at_import(tree))) - {name} for name, tree in modules().items()}
    assert circles(graph) == []


def test_only_the_types_of_streams_and_their_environment_name_each_other() -> None:
    """Each stream has its environment, which makes streams (decision 63)."""
    graph = {name: set(imported(ast.walk(tree))) - {name} for name, tree in modules().items()}
    (circle,) = circles(graph)
    assert {room(module) for module in circle} == {"declaration", "declaration.streams"}
    assert [module for module in circle if room(module) == "declaration"] == ["declaration.environment"]


BESIDES_STORES = {"object_stores.s3_access": "a key of Airflow's connections is `s3`"}
"""Modules that have the scheme of a store in a text, and why."""
_SCHEME = re.compile(r"(s3a?|hdfs|webhdfs)(://|:|$)|.*\b(s3a|hdfs)://", re.DOTALL)


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a module that are not descriptions."""
    words = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words:
            yield node.value


def test_only_stores_know_the_scheme_of_a_store() -> None:
    knowing = {name for name, tree in modules().items() if any(map(_SCHEME.match, texts(tree)))}
    assert {name for name in knowing if room(name) != "stores"} == set(BESIDES_STORES)


def inherited(name: str, classes: Mapping[str, ast.ClassDef]) -> set[str]:
    """Return the methods that a class of the package has from others of it."""
    found: set[str] = set()
    for base in classes[name].bases:
        other = ast.unparse(base).partition("[")[0].rpartition(".")[2]
        if other in classes and other != name:
            found |= methods(classes[other]).keys() | inherited(other, classes)
    return found


def methods(node: ast.ClassDef) -> Mapping[str, ast.FunctionDef]:
    return {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}


def test_a_public_method_has_a_description_unless_it_overrides_one() -> None:
    classes = {node.name: node for tree in modules().values() for node in tree.body if isinstance(node, ast.ClassDef)}
    without = [
        f"{name}.{method}"
        for name, node in classes.items()
        for method, code in methods(node).items()
        if not method.startswith("_") and ast.get_docstring(code) is None
        if method not in inherited(name, classes)
    ]
    assert [one for one in without if not one.startswith("_")] == []


def test_files_that_descriptions_name_are_there() -> None:
    root = PACKAGE.parents[1]
    known = [
        path.as_posix() for folder in (PACKAGE, root / "tests", root / "pipelines") for path in folder.rglob("*.py")
    ]
    named = re.compile(r"`([\w/]+\.py)`")
    lost = {
        f"{path.relative_to(PACKAGE)}: {file}"
        for path in PACKAGE.rglob("*.py")
        for file in named.findall(path.read_text())
        if not any(f"/{one}".endswith(f"/{file}") for one in known)
    }
    assert lost == set()


SETTING = {
    "__init__": "the name that users import",
    "declaration.__init__": "the same",
    "declaration.resources.slot_sharing_group": "the value: what a group sets, and what is wrong with it",
    "declaration.operators.operator_settings": "the field",
    "declaration.streams.settings_methods": "the call",
    "projects.yaml.vocabulary": "a name, or a mapping",
    "compiler.checks.resource_checks": "groups that contradict each other, or what their operators need",
    "compiler.stream_graph.stream_graph_draft": "an operator without a group has that of its inputs",
    "graphs.stream_graph": "does an edge change the group",
    "graphs.job_graph": "have vertices one group",
    "graphs.regions": "a region has its vertices' group, a task its regions'",
    "compiler.tasks.region_groups": "regions of two groups cannot share a task",
    "deployment.describe.airflow_arguments": "`group_args` names groups",
    "deployment.describe.deployability": "the same, for declared arguments",
    "airflow_backend.dag.deployment_tasks": "a task has its group's arguments, and is submitted with its settings",
    "deployment.targets.submit_settings": "where its applications run, and why that is refused",
    "deployment.describe.region_descriptors": "a region's descriptor has its group",
    "deployment.documents.descriptor": "the field of the document",
    "spark_runtime.main": "the log has what the master ignores",
    "spark_runtime.region.region_failover": "a lost result is recomputed only with the same resources",
    "explain.plan.plan": "the fields of the document",
    "explain.plan.plan_writer": "the same, written",
    "explain.documents.plan_json": "`explain --json`",
    "explain.documents.graph_json": "Flink's documents",
}
"""The modules that name one setting of operators, and why: the most that a setting passes (decision 75)."""
_SETTING = re.compile(r"slot_sharing_groups?|SlotSharingGroup|resource_profiles?")


def words_of(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code uses, and texts that are one word."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.arg(arg=word) | ast.keyword(arg=str(word)):
                yield word
            case ast.Constant(value=str(word)) | ast.FunctionDef(name=word) | ast.ClassDef(name=word):
                yield word
            case ast.alias(name=name) | ast.ImportFrom(module=str(name)):
                yield from name.split(".")


def test_a_setting_is_named_where_it_decides_something() -> None:
    naming = {name for name, tree in modules().items() if any(map(_SETTING.fullmatch, words_of(tree)))}
    assert naming == set(SETTING)
