"""A region is kept if the same code computed it: any difference has words, and equal code has none."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.deployment.documents.computed_by import NOT_RECORDED, CodePart, ComputedBy, PartKind, why_other_code
from graph_compiler.deployment.documents.wire import from_json, to_json

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
ROWS_OF_CODE = {
    "Python, Spark and Java": PartKind.PROGRAM,
    "this package": PartKind.OWN,
    "jars that the driver starts with": PartKind.JARS,
    "settings of Spark's SQL": PartKind.SETTING,
    "code that functions import, and operators and connectors of other packages": PartKind.MODULE,
    "installed packages that this code imports": PartKind.PACKAGE,
    "Python and these packages on executors of other hosts": PartKind.EXECUTORS,
}
OTHER_ROWS = {
    "yes": {
        "operators, places, parameters, the logical date",
        "files, jars and Python archives that the pipeline names",
        "staged results that it has read",
        "sources of files",
        "what else SQL text and functions read through Spark",
    },
    "never": {
        "a `FunctionSource`, or a `Table` that is a view or has partitions",
        "`${env:NAME}` and other variables in SQL",
        "a region that a version before 0.2 computed, or whose code changed while it ran",
        "any other secret of a sink, such as its URL, host or schema",
        "tables of Iceberg and Delta",
    },
    "no": {
        "secrets of sources, passwords and logins",
        "databases that `Jdbc` sources read, services, environment variables that a function reads",
        "files that a function opens, modules whose names are computed, an edit in an installed package",
        "settings of Hadoop, Hive and catalogs, the content of jars on the class path, native libraries",
    },
}


def part(kind: PartKind, name: str, version: str = "", digest: str = "") -> CodePart:
    return CodePart(kind=kind, name=name, version=version, digest=digest)


PANDAS = part(PartKind.PACKAGE, "pandas", "2.2.3", "aa")
BASE = (
    part(PartKind.PROGRAM, "Python", "3.11.2"),
    part(PartKind.OWN, "graph_compiler", digest="aa"),
    part(PartKind.JARS, "jars", digest="aa"),
    part(PartKind.SETTING, "spark.sql.caseSensitive", "true"),
    part(PartKind.SETTING, "spark.sql.extensions"),
    part(PartKind.MODULE, "helpers", digest="aa"),
    PANDAS,
)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (BASE[0], part(PartKind.PROGRAM, "Python", "3.12.1"), "Python 3.11.2 computed it, now Python 3.12.1 runs"),
        (BASE[1], part(PartKind.OWN, "graph_compiler", digest="bb"), "graph_compiler itself has changed since"),
        (BASE[2], part(PartKind.JARS, "jars", digest="bb"), "Spark's driver started with other jars"),
        (
            BASE[3],
            part(PartKind.SETTING, "spark.sql.caseSensitive", "false"),
            "spark.sql.caseSensitive was true, and is false now",
        ),
        (BASE[3], None, "spark.sql.caseSensitive was true, and is not set now"),
        (BASE[4], None, "spark.sql.extensions was '', and is not set now"),
        (BASE[5], part(PartKind.MODULE, "helpers", digest="bb"), "the code of module 'helpers' has changed since"),
        (PANDAS, part(PartKind.PACKAGE, "pandas", "2.3.0", "bb"), "pandas 2.2.3 computed it, now 2.3.0 is installed"),
        (PANDAS, part(PartKind.PACKAGE, "pandas", "2.2.3", "bb"), "another build of pandas 2.2.3 computed it"),
        (PANDAS, None, "pandas 2.2.3 computed it, and is not used now"),
        (
            part(PartKind.EXECUTORS, "pandas", "2.2.3"),
            part(PartKind.EXECUTORS, "pandas", "2.2.3 and 2.3.0"),
            "executors with pandas 2.2.3 computed it, now they have pandas 2.2.3 and 2.3.0",
        ),
        (None, part(PartKind.PACKAGE, "numexpr", "2.10"), "numexpr 2.10 is used now, and was not"),
    ],
)
def test_each_difference_has_its_words(old: CodePart | None, new: CodePart | None, words: str) -> None:
    kept = tuple(each for each in BASE if each != old)
    before = ComputedBy(parts=(*kept, old) if old else kept)
    now = ComputedBy(parts=(new, *kept) if new else kept)
    assert why_other_code(before, now) == words


def test_several_differences_are_counted() -> None:
    before = ComputedBy(parts=BASE)
    assert why_other_code(before, ComputedBy(parts=())) == (
        "Python 3.11.2 computed it, now Python not set runs; graph_compiler itself has changed "
        "since; Spark's driver started with other jars; and 4 other differences"
    )


def test_what_is_not_known_is_never_the_same() -> None:
    known, unknown = ComputedBy(parts=BASE), ComputedBy(parts=BASE, unknown="it reads ${env:A}")
    assert why_other_code(None, known) == NOT_RECORDED
    assert why_other_code(unknown, known) == "it reads ${env:A}"
    assert why_other_code(known, unknown) == "it reads ${env:A}"
    assert why_other_code(unknown, unknown) == "it reads ${env:A}"


words = st.text(max_size=3)
codes = st.lists(
    st.builds(CodePart, kind=st.sampled_from(PartKind), name=st.sampled_from("abc"), version=words, digest=words),
    max_size=5,
    unique_by=lambda each: (each.kind, each.name),
).map(lambda parts: ComputedBy(parts=tuple(parts)))


@given(codes, codes)
def test_only_equal_code_is_the_same(before: ComputedBy, now: ComputedBy) -> None:
    is_same = set(before.parts) == set(now.parts)
    assert (why_other_code(before, now) is None) == is_same
    assert (why_other_code(now, before) is None) == is_same


@given(codes)
def test_a_report_gives_it_back(code: ComputedBy) -> None:
    read = from_json(ComputedBy, to_json(code))
    assert read == code
    assert why_other_code(read, code) is None


def test_the_page_says_of_everything_whether_it_is_compared() -> None:
    page = PAGE.read_text().partition("### What a retry compares\n")[2]
    lines = page.partition("Only retries compare this")[0].splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][2:]
    said: dict[str, set[str]] = {"yes": set(), "never": set(), "no": set()}
    for what, compared in cells:
        answer = re.split(r"[,: ]", compared)[0]
        said[answer if answer in said else "never"].add(what)
    assert said == {**OTHER_ROWS, "yes": OTHER_ROWS["yes"] | ROWS_OF_CODE.keys()}
    assert set(ROWS_OF_CODE.values()) == set(PartKind)
