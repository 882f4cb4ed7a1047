"""Tests of pipelines/word_count.py, as the author of that pipeline would write them with the testing kit."""

from collections.abc import Callable

import pytest

from graph_compiler.testing import PipelineResult
from pipelines.word_count import env
from pipelines.word_count_stream import env as stream

pytestmark = pytest.mark.spark

Run = Callable[..., PipelineResult]


def test_the_words_of_the_example_are_counted(pipeline_run: Run) -> None:
    found = {row["word"]: row["frequency"] for row in pipeline_run(env, {}).sink("file-sink").rows}
    assert (found["to"], found["the"], found["be"], found["sea"]) == (4, 3, 2, 1)
    assert "" not in found


def test_words_have_any_case_and_are_separated_by_anything_else(pipeline_run: Run) -> None:
    lines = [{"value": "To be, or NOT to-be"}, {"value": ""}, {"value": " -- "}, {"value": None}]
    result = pipeline_run(env, {"in-memory-input": lines})
    counts = {"to": 2, "be": 2, "or": 1, "not": 1}
    result.assert_rows("file-sink", [{"word": word, "frequency": n} for word, n in counts.items()])


def test_lines_that_arrive_are_counted_as_lines_of_a_batch(pipeline_run: Run) -> None:
    lines = [{"value": "To be, or NOT to-be"}, {"value": "be"}]
    batch, found = pipeline_run(env, {"in-memory-input": lines}), pipeline_run(stream, {"lines": lines})
    found.assert_rows("file-sink", batch.sink("file-sink").rows)


@pytest.mark.ci
def test_lines_of_later_batches_are_added(pipeline_run: Run) -> None:
    run = pipeline_run(stream, {"lines": [[{"value": "to be"}], [{"value": "or not to be"}]]})
    run.batches[0].assert_rows("file-sink", [{"word": "to", "frequency": 1}, {"word": "be", "frequency": 1}])
    counts = {"to": 2, "be": 2, "or": 1, "not": 1}
    run.assert_rows("file-sink", [{"word": word, "frequency": n} for word, n in counts.items()])
