"""Decisions have pages, references lead to them, and what the documents name exists."""

import re
from pathlib import Path

import pytest

import graph_compiler
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from pipelines.flights import env
from tests.architecture.test_rooms import THIRD_PARTY

ROOT = Path(__file__).parents[2]
PACKAGE = Path(graph_compiler.__file__).parent
DECISIONS = ROOT / "docs" / "decisions"
PAGES = sorted(DECISIONS.glob("[0-9]*.md"))
DOCUMENTS = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "web" / "README.md"])
SOURCES = sorted(
    path
    for folder in ("benchmarks", "dags", "pipelines", "plugins", "scripts", "tests")
    for path in (ROOT / folder).rglob("*.py")
)
HEADINGS = ["## Context", "## Decision", "## Other ways, and why not"]
REFERENCE = re.compile(r"\bdecision (\d+)\b", re.IGNORECASE)
OLD_REFERENCE = re.compile(r"DESIGN[ ]D\d|\(D\d+b?\)")
MENTION = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)(?:: (\w+))?`")
ROOMS = {folder.name for folder in PACKAGE.iterdir() if folder.is_dir()}
FOLDERS = {"benchmarks", "dags", "docs", "pipelines", "schemas", "scripts", "tests", "web"}


def number(page: Path) -> int:
    """Return the number in a page's name."""
    return int(page.name.partition("-")[0])


def test_no_two_decisions_have_one_number() -> None:
    """A number may be missing while several people add pages."""
    numbers = [number(page) for page in PAGES]
    assert numbers == sorted(set(numbers))


def test_a_decision_is_one_page_with_its_reasons_and_a_row_in_the_list() -> None:
    rows = (DECISIONS / "README.md").read_text()
    for page in PAGES:
        lines = page.read_text().splitlines()
        assert lines[0].startswith(f"# {number(page)}. "), page.name
        assert [line for line in lines if line.startswith("## ")] == HEADINGS, page.name
        assert len(lines) <= 60, page.name
        title = lines[0].partition(". ")[2]
        assert f"| {number(page)} | [{title}]({page.name})" in rows


def test_every_decision_that_is_referred_to_has_a_page() -> None:
    numbers = {number(page) for page in PAGES}
    lost = {
        f"{path.relative_to(ROOT)}: decision {found}"
        for path in [*SOURCES, *DOCUMENTS]
        for found in REFERENCE.findall(path.read_text())
        if int(found) not in numbers
    }
    assert lost == set()


def test_documents_that_are_referred_to_exist() -> None:
    old = [
        str(path.relative_to(ROOT))
        for path in [*SOURCES, *DOCUMENTS]
        if path != Path(__file__) and OLD_REFERENCE.search(path.read_text())
    ]
    assert old == []


SYMBOL = re.compile(r"`(\w+): (\w+)`")
SYMBOLS = sorted(
    {
        (str(path.relative_to(ROOT)), room, name)
        for path in DOCUMENTS
        for room, name in SYMBOL.findall(path.read_text())
        if room in ROOMS
    }
)


def test_what_documents_name_in_a_room_is_there() -> None:
    definition = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)", re.MULTILINE)
    rooms = {room for _, room, _ in SYMBOLS}
    defined = {
        room: {name for path in (PACKAGE / room).rglob("*.py") for name in definition.findall(path.read_text())}
        for room in rooms
    }
    assert [one for one in SYMBOLS if one[2] not in defined[one[1]]] == []


MENTIONS = sorted(
    {
        (str(path.relative_to(ROOT)), file, name)
        for path in DOCUMENTS
        for file, name in MENTION.findall(path.read_text())
        if file.partition("/")[0] in ROOMS | FOLDERS and "NAME" not in file
    }
)


def test_files_and_names_in_documents_exist() -> None:
    assert [mention for mention in MENTIONS if not is_there(*mention[1:])] == []


def is_there(file: str, name: str) -> bool:
    """Whether there is the file, and the definition in it."""
    at = (PACKAGE if file.partition("/")[0] in ROOMS else ROOT) / file
    if not name or not at.exists():
        return at.exists()
    return re.search(rf"^\s*(?:def|class) {name}\b", at.read_text(), re.MULTILINE) is not None


def test_the_page_on_the_architecture_is_short_and_names_every_room() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert len(text.splitlines()) <= 150
    assert [room for room in ROOMS - {"__pycache__"} if f"| `{room}` |" not in text] == []


@pytest.mark.parametrize("room", sorted(set(THIRD_PARTY) & ROOMS))
def test_the_page_on_the_architecture_says_what_a_room_imports(room: str) -> None:
    lines = (ROOT / "docs" / "architecture.md").read_text().splitlines()
    (row,) = (line for line in lines if line.startswith(f"| `{room}` |"))
    assert set(re.findall(r"\w+", row.split("|")[3])) >= THIRD_PARTY[room]


def test_the_edge_that_the_architecture_follows_is_the_examples() -> None:
    (staged,) = compile_pipeline(env.pipeline()).job_graph.staged_edges
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert f"`{staged.id}`" in text
    assert f"`manifests/{staged.data_set_id}/0.json`" in text
    assert f"`data/{staged.data_set_id}/epoch-0-" in text
