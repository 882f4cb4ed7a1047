"""Whatever a file holds, it is a pipeline or it is refused in words: the reader raises nothing else, and comes back."""

import json
from contextlib import suppress
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.yaml_spec.operations import (
    SETTING_KEYS,
    SOURCE_FORMS,
    STEP_FORMS,
    Sink,
)
from graph_compiler.declaration.yaml_spec.places import WINDOWS
from graph_compiler.declaration.yaml_spec.reader import parse_pipeline
from graph_compiler.errors import InvalidPipelineError
from tests.yaml.test_yaml_operator_table import CASES, HEAD

EXAMPLE = (Path(__file__).parents[2] / "pipelines" / "flights_yaml.yaml").read_text()
PIECES = (
    *("{", "}", "[", "]", ": ", ", ", "- ", "\n", "\n  ", "\t", "'", '"', "|", ">-", "#", "? ", "&a ", "*a", "<<: "),
    *("!!x ", "%", "---", "...", "\0", "\ud7ff", "😀", "{{ params.x }}", "~", "true", "1e999", "9" * 50, "0x1f"),
    *("name", "sources", "steps", "sinks", "from", "filter", "join", "s", "csv", "aggregate", "key_by"),
)  # fmt: skip
FORMS = (*STEP_FORMS.values(), *SOURCE_FORMS.values(), Sink)
OTHERS = ("x", "cpu_cores", "memory", "driver_memory", "conf", "secret", "field", "file")
KEYS = sorted(
    {str(field.alias) for form in FORMS for field in form.model_fields.values()}
    | {*SETTING_KEYS, *WINDOWS, *OTHERS}
)
SECTIONS = ("params", "config", "sources", "steps", "sinks")
leaf = st.sampled_from(
    ["s", "t", "a", "x > 0", "1 hour", "inner", "", "tests.yaml.yaml_functions:one", 1, 0, -3, 0.5, True, None]
)  # fmt: skip
value = st.recursive(
    leaf,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=8,
)
entry = st.dictionaries(st.sampled_from(KEYS), value, max_size=5)


@st.composite
def nearly_right(draw: st.DrawFn) -> dict[str, object]:
    """A step with the key of an operator, and some of its keys."""
    key = draw(st.sampled_from(sorted(STEP_FORMS)))
    own = [str(field.alias) for field in STEP_FORMS[key].model_fields.values()]
    others = draw(st.dictionaries(st.sampled_from(own), value, max_size=4))
    return {"from": "s", key: draw(value), **others}


def read(text: str) -> None:
    """Read and compile."""
    with suppress(InvalidPipelineError):
        compile_pipeline(parse_pipeline(text, "/nowhere/p.yaml"))


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text(text: str) -> None:
    read(text)


@settings(max_examples=150)
@given(st.data())
def test_an_example_with_a_piece_in_the_wrong_place(data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(EXAMPLE)))
    end = data.draw(st.integers(begin, min(begin + 30, len(EXAMPLE))))
    read(EXAMPLE[:begin] + data.draw(st.sampled_from(PIECES)) + EXAMPLE[end:])


@settings(max_examples=300)
@given(st.fixed_dictionaries({"name": leaf, **dict.fromkeys(SECTIONS, value)}))
def test_any_values(document: object) -> None:
    read(json.dumps(document))


@settings(max_examples=150)
@given(st.lists(nearly_right() | entry, max_size=4))
def test_any_steps(steps: list[object]) -> None:
    read(HEAD + "steps: " + json.dumps(steps))


@settings(max_examples=200)
@given(st.sampled_from(CASES), st.sampled_from(CASES), st.sampled_from(KEYS), value)
def test_steps_that_are_right_but_for_a_key(
    one: object, other: object, key: str, item: object
) -> None:
    steps = [getattr(case, "steps", "")[1:-1] for case in (one, other)]
    wrong = steps[1].replace("}", f", {key}: {json.dumps(item)}}}", 1)
    read(f"{HEAD}steps: [{steps[0]}, {wrong}]")
