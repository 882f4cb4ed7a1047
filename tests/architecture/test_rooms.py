"""The rooms of the package: how large they may be, and what may happen in which."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import graph_compiler

PACKAGE = Path(graph_compiler.__file__).parent
FOLDERS = sorted({module.parent for module in PACKAGE.rglob("*.py")})
MOST_MODULES = 15
PURE = ("compiler", "deployment", "explain", "graphs", "options")
EFFECTS = frozenset(
    {"glob", "io", "os", "random", "secrets", "shutil", "socket", "subprocess", "tempfile", "threading", "time", "uuid"}
)  # fmt: skip
CLOCKS = frozenset({"now", "today", "utcnow"})
PRINTS = {
    "airflow_backend/installation/health_report.py": "its output is a document that its caller reads",
    "airflow_backend/installation/run_states.py": "its output is a document that its caller reads",
}
"""Programs outside of `cli` that print, and why; all others log."""
THIRD_PARTY = {
    "declaration": set(),
    "deployment": {"jinja2"},
    "deployment/documents": set(),
    "graphs": set(),
    "staging": set(),
    "options": {"pydantic", "jsonschema", "croniter"},
    "projects": {"pydantic", "pydantic_core", "yaml"},
    "compiler": {"mmh3"},
    "explain": {"pydantic"},
    "row_reader": {"pyarrow"},
    "spark_runtime": {"pyspark", "py4j", "pyarrow"},
}


def room(folder: Path) -> str:
    """Return a folder's place in the package."""
    return str(folder.relative_to(PACKAGE))


@pytest.mark.parametrize("folder", FOLDERS, ids=map(room, FOLDERS))
def test_a_room_is_small_and_says_what_it_is_for(folder: Path) -> None:
    modules = [path.name for path in folder.glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= MOST_MODULES
    words = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert words
    assert words.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", PURE)
def test_a_pure_room_touches_no_disk_and_no_clock(name: str) -> None:
    found = {
        f"{module.relative_to(PACKAGE)}:{line}": what
        for module in (PACKAGE / name).rglob("*.py")
        for line, what in effects(ast.parse(module.read_text()))
    }
    assert found == {}


def test_only_the_command_line_and_programs_that_answer_on_stdout_print() -> None:
    printing = {
        room(module)
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    }
    assert {module for module in printing if not module.startswith("cli/")} == set(PRINTS)


@pytest.mark.parametrize("name", THIRD_PARTY)
def test_a_room_imports_the_packages_it_may(name: str) -> None:
    imported = {
        package
        for module in (PACKAGE / name).rglob("*.py")
        for package in packages(ast.parse(module.read_text()))
    }
    foreign = imported - sys.stdlib_module_names - {"graph_compiler"}
    assert foreign == THIRD_PARTY[name]


LOCAL = (
    *("bounded_read", "folder_exchange", "hadoop_checksums", "in_memory_store", "local_store"),
    "private_folders",
)
KNOW_THE_DISK = {
    "airflow_backend/web/rows/staged_files.py": "rows of files that lie on this server's disk",
    "cli/commands/ui.py": "the folder of a password",
    "cli/running/embedded_airflow.py": "Airflow's own home",
    "staging/publications/file_publication.py": "targets that are folders of a disk",
}
TAKE_PATHS = {
    "cli/running/in_process_run.py": "the lock of a run is the machine's own",
}


def test_a_store_is_made_in_one_place_and_asked_for_all_it_holds() -> None:
    users = {
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        for name in LOCAL
        if f"staging.store.{name} import" in module.read_text()
    }
    assert {user for user in users if not user.startswith("staging/store/")} == set(KNOW_THE_DISK)
    makers = [module for module in PACKAGE.rglob("*.py") if "LocalStore()" in module.read_text()]
    assert [maker.name for maker in makers] == ["stores.py"]


def test_nobody_makes_a_path_of_what_lies_in_a_staging_root() -> None:
    found = {
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Path"
        if any("layout" in ast.unparse(argument) for argument in node.args)
    }
    assert found == set(TAKE_PATHS)
    by_path = [
        str(module.relative_to(PACKAGE))
        for room in ("staging/results", "staging/executions", "staging/gc")
        for module in (PACKAGE / room).glob("*.py")
        if any(what == "Path" for _, what in effects(ast.parse(module.read_text())))
    ]
    assert by_path == []


def effects(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield lines that could read or change anything outside of their arguments."""
    for node in ast.walk(tree):
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


def packages(tree: ast.AST) -> Iterator[str]:
    """Yield the top-level names of what is imported."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (name.name.split(".")[0] for name in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.split(".")[0]
