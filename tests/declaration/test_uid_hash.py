"""`.uid_hash()`: the id an operator had in an older version, for its staged results."""

import re
from typing import Any

import pytest

from graph_compiler import Csv, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.explain.diff.plan_changes import ResultChangeKind
from graph_compiler.explain.diff.plan_diff import plan_diff
from graph_compiler.explain.documents.graph_json import job_graph_json
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from tests.harness.compiled_graphs import summary_of

HASH = "0123456789abcdef0123456789abcdef"


def sales(uid_hash: str | None = None, *, is_later: bool = False) -> CompiledPipeline:
    """orders → totals ▒▶ report; a later version reads prices before that."""
    env = StreamExecutionEnvironment("sales")
    if is_later:
        env.from_source(Csv("/prices"), "prices").sink_to(Parquet("/prices_out")).name("prices_out")
    orders = env.from_source(Csv("/in"), "orders")
    totals = orders.key_by("k").aggregate(n="count(*)").name("totals")
    if uid_hash is not None:
        totals.uid_hash(uid_hash)
    totals.stage("read by others").filter("n > 1").name("report").sink_to(Parquet("/out"))
    return compile_pipeline(env.pipeline())


def vertex_id(compiled: CompiledPipeline, name: str) -> str:
    (vertex,) = (one for one in compiled.job_graph.vertices if one.name.startswith(name))
    return vertex.id


def results(compiled: CompiledPipeline) -> list[str]:
    return [result.id for region in describe_pipeline(compiled).regions for result in region.results]


def test_a_uid_hash_names_the_results_of_its_vertex_only() -> None:
    before, now = sales(), sales(HASH)
    assert vertex_id(before, "totals") == vertex_id(now, "totals")
    assert results(now) == [f"{HASH}-0"]


def test_a_uid_hash_is_kept_beside_the_generated_id() -> None:
    answer: Any = job_graph_json(sales(HASH).job_graph)
    pairs = [pair for vertex in answer["vertices"] for pair in vertex["operator_ids"]]
    assert {pair["user_defined"] for pair in pairs} == {None, HASH}


def test_the_id_of_an_older_version_keeps_its_staged_result_reusable() -> None:
    before, moved = sales(), sales(is_later=True)
    assert vertex_id(before, "totals") != vertex_id(moved, "totals")
    kept = sales(vertex_id(before, "totals"), is_later=True)
    kinds = [
        [change.kind for change in plan_diff(summary_of(before), summary_of(later)).results] for later in (moved, kept)
    ]
    assert kinds == [[ResultChangeKind.MOVED], [ResultChangeKind.REUSABLE]]


def test_a_changed_uid_hash_changes_the_plan() -> None:
    ids = {describe_pipeline(sales(hash)).plan.plan_id for hash in (None, HASH)}
    assert len(ids) == 2


@pytest.mark.parametrize("wrong", ["", "abc", "g" * 32, f"{HASH}0"])
def test_invalid_hashes_are_refused(wrong: str) -> None:
    with pytest.raises(InvalidPipelineError, match=r"allowed: 32 hexadecimal digits"):
        sales(wrong)


def test_upper_case_is_the_same_id() -> None:
    assert results(sales(HASH.upper())) == [f"{HASH}-0"]


def test_the_id_of_another_operator_is_refused() -> None:
    taken = vertex_id(sales(), "report")
    words = f"totals: its uid hash '{taken}' is already the id of 'report'"
    with pytest.raises(InvalidPipelineError, match=re.escape(words)):
        sales(taken)


def test_a_uid_hash_counts_as_an_explicit_id() -> None:
    strict = StreamExecutionEnvironment("sales", config={"pipeline.auto-generate-uids": False})
    strict.from_source(Csv("/in"), "in").uid("in").sink_to(Parquet("/out")).uid_hash(HASH)
    assert compile_pipeline(strict.pipeline()).job_graph.vertices[0].user_hashes == (HASH, None)
