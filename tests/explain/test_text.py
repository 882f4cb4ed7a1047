"""The whole explain text of each example, beside its declaration; `--update-golden` rewrites them."""

from pathlib import Path

import pytest

from graph_compiler import StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.explain.text import explain_text
from pipelines.flights import env as flights
from tests.conftest import (
    SHUFFLE_MODES,
    alternating_groups,
    staged_detour,
    with_options,
    word_count,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "pipelines"
CASES = {env.name: env for env in (flights, word_count(), staged_detour(), alternating_groups())}


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
@pytest.mark.parametrize("env", CASES.values(), ids=CASES.keys())
def test_explain(
    env: StreamExecutionEnvironment, mode: str, request: pytest.FixtureRequest
) -> None:
    file = GOLDEN / f"{env.name}.{mode}.explain.txt"
    text = explain_text(compile_pipeline(with_options(env.pipeline(), shuffle_mode=mode))) + "\n"
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert file.read_text() == text
