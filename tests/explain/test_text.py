"""The whole explain text of each example, compared with golden files; `--update-golden` rewrites them."""

from pathlib import Path

import pytest

from graph_compiler import Csv, Jdbc, Json, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from pipelines.flights import env as flights
from tests.conftest import (
    SHUFFLE_MODES,
    alternating_groups,
    expensive_and_checked,
    staged_detour,
    with_options,
    word_count,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "pipelines"
CASES = {
    env.name: env for env in (flights, word_count(), staged_detour(), alternating_groups(), expensive_and_checked())
}


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("first(v)", "because of first(…): its value depends on the order in which rows arrive"),
        ("FIRST (v)", "because of first(…): its value depends on the order in which rows arrive"),
        ("max('first(v)')", None),
        ("max(v)", None),
    ],
)
def test_nondeterministic_calls_are_explained_as_staged(expression: str, words: str | None) -> None:
    env = StreamExecutionEnvironment("p")
    newest = env.from_source(Csv("/in"), "in").key_by("k").aggregate(v=expression).name("newest")
    for name in ("one", "two"):
        newest.sink_to(Parquet(f"/out/{name}")).name(name)
    text = explain_text(plan_of(compile_pipeline(env.pipeline())))
    assert ("staged once" in text) == (words is not None)
    assert (words or "") in text


def test_nondeterministic_rows_are_explained_as_staged_once() -> None:
    env = StreamExecutionEnvironment("p")
    some = env.from_source(Csv("/in"), "in").limit(5).name("some")
    for name in ("one", "two"):
        some.sink_to(Parquet(f"/out/{name}")).name(name)
    assert (
        "some: staged once for its 2 readers, because it keeps arbitrary rows: top_n(…) keeps the same ones each time"
        in explain_text(plan_of(compile_pipeline(env.pipeline())))
    )


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
@pytest.mark.parametrize("env", CASES.values(), ids=CASES.keys())
def test_explain_text_is_the_golden_one(
    env: StreamExecutionEnvironment, mode: str, request: pytest.FixtureRequest
) -> None:
    file = GOLDEN / f"{env.name}.{mode}.explain.txt"
    text = explain_text(plan_of(compile_pipeline(with_options(env.pipeline(), shuffle_mode=mode)))) + "\n"
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert file.read_text() == text


NO_EDGE = "no edge connects"


def test_regions_that_share_a_task_without_an_edge_are_named() -> None:
    env = StreamExecutionEnvironment("p")
    sums = env.from_source(Csv("/in"), "in").filter("day > 1").name("sums").stage("expensive")
    for key in ("day", "user"):
        sums.key_by(key).aggregate(n="count(*)").name(f"by_{key}").sink_to(Parquet(f"/out/{key}")).name(f"out_{key}")
    text = explain_text(plan_of(compile_pipeline(env.pipeline())))
    words = "  no edge connects out_day and out_user: they become ready together, and share an application"
    assert text.count(NO_EDGE) == 1
    assert f"task out_day · 2 regions\n{words}\n  region out_day\n" in text


def test_regions_that_an_edge_connects_through_a_third_one_need_no_word() -> None:
    text = explain_text(plan_of(compile_pipeline(expensive_and_checked().pipeline())))
    assert "· 4 regions" in text
    assert NO_EDGE not in text


def test_a_source_that_reads_only_what_is_new_says_so() -> None:
    env = StreamExecutionEnvironment("sales")
    files = env.from_source(Json("/in", schema="id INT"), "files", only_new=True).uid("files")
    rows = env.from_source(Jdbc("jdbc:x", table="t"), "rows", only_new="at", lag="1 hour").uid("rows")
    files.select("id").sink_to(Parquet("/out/a"), mode="append")
    rows.select("id").sink_to(Parquet("/out/b"), mode="append")
    plan = plan_of(compile_pipeline(env.pipeline()))
    lines = [line.strip() for line in explain_text(plan).splitlines()]
    assert "files: reads only new files" in lines
    assert "rows: reads only rows whose 'at' is higher than before, 1 hour behind the newest" in lines
    details = {operator.name: operator.details for operator in plan.operators}
    assert "only_new: True" in details["files"]
    assert {"only_new: at", "lag: 1 hour"} <= set(details["rows"])
