"""The example in YAML is the example in Python."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.operators import WithColumns
from graph_compiler.declaration.transformations import Transformation
from graph_compiler.projects.yaml.reader import read_pipeline
from pipelines.flights import env as flights
from tests.conftest import SHUFFLE_MODES, with_options
from tests.yaml.equality import assert_equal

FILE = Path(__file__).parents[2] / "pipelines" / "flights_yaml.yaml"


def one_line(pipeline: Pipeline) -> Pipeline:
    """Return expressions in one line: the two files differ only in white space."""

    def change(transformation: Transformation) -> Transformation:
        operator = getattr(transformation, "operator", None)
        if not isinstance(operator, WithColumns):
            return transformation
        columns = tuple((name, re.sub(r"\s+", " ", text).strip()) for name, text in operator.columns)
        return replace(transformation, operator=replace(operator, columns=columns))  # type: ignore[call-arg]

    return replace(pipeline, transformations=tuple(map(change, pipeline.transformations)))


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_the_yaml_form_compiles_to_the_same_plan(mode: str) -> None:
    found, wanted = (
        with_options(pipeline, shuffle_mode=mode) for pipeline in (read_pipeline(FILE), flights.pipeline())
    )
    wanted = replace(wanted, name=found.name, parameters=found.parameters)
    assert_equal(one_line(found), one_line(wanted))


def test_the_yaml_form_has_the_same_parameters() -> None:
    found, wanted = read_pipeline(FILE).params, flights.pipeline().params
    assert [(name, type(value)) for name, value in found] == [(n, type(v)) for n, v in wanted]


def test_operators_know_their_line() -> None:
    lines = FILE.read_text().splitlines()
    for operator in read_pipeline(FILE).operators:
        assert operator.declared_at is not None
        assert operator.declared_at.file == str(FILE)
        assert operator.name in lines[operator.declared_at.line - 1]
