"""The rooms of the package: what each is for, and which effects it may have."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import graph_compiler

PACKAGE = Path(graph_compiler.__file__).parent
PURE = ("compiler", "deployment", "explain", "graphs", "options")
EFFECTS = frozenset(
    {"glob", "io", "os", "random", "secrets", "shutil", "socket", "subprocess", "tempfile", "threading", "time", "uuid"}
)  # fmt: skip
CLOCKS = frozenset({"now", "today", "utcnow"})
PRINTS = {
    "airflow_backend/installation/executor_health.py": "its output is a document that its caller reads",
    "airflow_backend/installation/health_report.py": "its output is a document that its caller reads",
    "airflow_backend/installation/run_states.py": "its output is a document that its caller reads",
    "airflow_backend/installation/submit_commands.py": "its output is a document that its caller reads",
    "airflow_backend/connection_access.py": "its output is a document that its caller reads",
    "airflow_backend/task/secret_values.py": "its output is a document that its caller reads",
}
"""Programs outside of `cli` that print, and why; all others log."""
THIRD_PARTY = {
    "declaration": set(),
    "deployment": {"jinja2"},
    "deployment/documents": set(),
    "graphs": set(),
    "staging": set(),
    "stores": set(),
    "options": {"pydantic", "jsonschema", "croniter"},
    "projects": {"pydantic", "pydantic_core", "yaml"},
    "compiler": {"mmh3"},
    "explain": {"pydantic"},
    "driver_jvm": set(),
    "lake_metadata": {"deltalake", "pyiceberg"},
    "object_stores": {"obstore"},
    "row_reader": {"pyarrow"},
    "run_client": {"httpx"},
    "spark_runtime": {"pyspark", "py4j", "pyarrow"},
    "webhdfs": set(),
}


def room(folder: Path) -> str:
    """Return a folder's place in the package."""
    return str(folder.relative_to(PACKAGE))


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


def test_a_room_says_what_it_is_for() -> None:
    folders = sorted({module.parent for module in PACKAGE.rglob("*.py")})
    words = {room(folder): ast.get_docstring(tree(folder / "__init__.py")) for folder in folders}
    assert [name for name, text in words.items() if not (text and text.splitlines()[0].endswith("."))] == []


@pytest.mark.parametrize("name", PURE)
def test_a_pure_room_touches_no_disk_and_no_clock(name: str) -> None:
    found = {
        f"{module.relative_to(PACKAGE)}:{line}": what
        for module in (PACKAGE / name).rglob("*.py")
        for line, what in effects(tree(module))
    }
    assert found == {}


def test_only_the_command_line_and_programs_that_answer_on_stdout_print() -> None:
    printing = {
        room(module)
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    }
    assert {module for module in printing if not module.startswith("cli/")} == set(PRINTS)


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_a_room_imports_the_packages_it_may(name: str) -> None:
    imported = {package for module in (PACKAGE / name).rglob("*.py") for package in packages(tree(module))}
    foreign = imported - sys.stdlib_module_names - {"graph_compiler"}
    assert foreign == THIRD_PARTY[name]


LOCAL = (*("bounded_read", "folder_exchange", "hadoop_checksums", "in_memory_store", "local_store"), "folder_access")
KNOW_THE_DISK = {
    "airflow_backend/web/rows/staged_files.py": "rows of files that lie on this server's disk",
    "cli/commands/ui.py": "the folder of a password",
    "cli/running/embedded_airflow.py": "Airflow's own home",
    "cli/running/in_process_run.py": "a lock of this machine's",
    "extending/stores.py": "a folder with which a store of another package may begin",
    "staging/publications/files_on_disk.py": "targets that are folders of a disk",
}
TAKE_PATHS = {"cli/running/in_process_run.py": "the lock of a run is the machine's own"}


def test_a_store_is_created_in_one_place_and_used_for_all_it_contains() -> None:
    users = {
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        for name in LOCAL
        if f"staging.store.{name} import" in module.read_text()
    }
    assert {user for user in users if not user.startswith("staging/store/")} == set(KNOW_THE_DISK)
    makers = [module for module in PACKAGE.rglob("*.py") if "LocalStore()" in module.read_text()]
    assert [maker.name for maker in makers] == ["stores.py"]


def test_only_the_layout_joins_paths_in_a_staging_root() -> None:
    found = {
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Path"
        if any("layout" in ast.unparse(argument) for argument in node.args)
    }
    assert found == set(TAKE_PATHS)
    by_path = [
        str(module.relative_to(PACKAGE))
        for room in ("staging/results", "staging/attempts", "staging/gc")
        for module in (PACKAGE / room).glob("*.py")
        if any(what == "Path" for _, what in effects(tree(module)))
    ]
    assert by_path == []


MAKE_IDENTITIES = {
    "airflow_backend/run_identities.py": "of a run of Airflow's",
    "cli/arguments/runs.py": "of a run that a person names",
    "run_client/run_client.py": "of a run that a person names in Python",
    "deployment/describe/local_task.py": "of a run without Airflow",
    "deployment/documents/run_identity.py": "from a folder's name, and from documents of earlier versions",
}
JOIN_RUN_IDS = {
    "airflow_backend/installation/airflow_api.py": "addresses of Airflow's API",
    "run_client/rest_end.py": "addresses of Airflow's API",
    "airflow_backend/web/runs/dag_runs.py": "addresses of Airflow's pages",
    "staging/attempts/attempt_lineage.py": "the version of a staged result, whose name has the rest",
    "spark_runtime/connectors/memory.py": "the id that a function gets: an owner has no slash, an operator id ends it",
    "spark_runtime/connectors/lake/delta.py": "what the table notes of a commit, for people",
    "spark_runtime/connectors/lake/iceberg_sink.py": "what the table notes of a snapshot, for people",
    "spark_runtime/connectors/table.py": "what a table's column says of the run, by its identity",
}


def test_run_identities_are_made_in_few_places_and_their_parts_joined_nowhere_else() -> None:
    trees = {room(module): list(ast.walk(tree(module))) for module in PACKAGE.rglob("*.py")}
    made = {name for name, nodes in trees.items() if any(map(makes_an_identity, nodes))}
    assert made == set(MAKE_IDENTITIES)
    joined = {name for name, nodes in trees.items() if any(map(joins_a_run_id, nodes))}
    assert joined == {*JOIN_RUN_IDS, "deployment/documents/run_identity.py"}
    layouts = [
        {keyword.arg for keyword in node.keywords}
        for nodes in trees.values()
        for node in nodes
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "StagingLayout"
    ]
    assert layouts
    assert all(given == {"root", "identity"} for given in layouts)


def makes_an_identity(node: ast.AST) -> bool:
    calls = ("RunIdentity", "RunIdentity.own", "RunIdentity.named")
    return isinstance(node, ast.Call) and ast.unparse(node.func) in calls


def joins_a_run_id(node: ast.AST) -> bool:
    """Whether a run id becomes part of a path: by an f-string with a slash, or encoded as a segment."""
    match node:
        case ast.JoinedStr(values=parts):
            is_path = any("/" in str(part.value) for part in parts if isinstance(part, ast.Constant))
        case ast.Call(func=ast.Name(id="path_segment")):
            is_path = True
        case _:
            is_path = False
    return is_path and "run_id" in ast.unparse(node)


def effects(module: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield lines that could read or change anything outside their arguments."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, name) for name in packages(node) if name in EFFECTS)
        match node:
            case ast.ImportFrom(module="pathlib", names=names):
                if any(not name.name.startswith("Pure") for name in names):
                    yield node.lineno, "Path"
            case ast.Call(func=ast.Name(id="open")):
                yield node.lineno, "open"
            case ast.Call(func=ast.Attribute(attr=attribute)) if attribute in CLOCKS:
                yield node.lineno, attribute


def packages(imports: ast.AST) -> Iterator[str]:
    """Yield the top-level names of what is imported."""
    for node in ast.walk(imports):
        match node:
            case ast.Import(names=names):
                yield from (name.name.split(".")[0] for name in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.split(".")[0]
