"""Whatever a file contains, it is a pipeline or refused with a message: the reader raises nothing else, and ends.

Each problem has a line of the file. A few hundred examples run here, and many more in
`test_many_random_documents_are_pipelines_or_refused` (-m long).
"""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph_compiler.compiler.checks.validation import all_problems
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.projects.yaml.reader import parse_pipeline
from graph_compiler.projects.yaml.vocabulary import SETTING_KEYS, SOURCE_FORMS, STEP_FORMS, WINDOWS, Sink
from tests.yaml.test_yaml_operator_table import CASES, HEAD

EXAMPLE = (Path(__file__).parents[2] / "pipelines" / "flights_yaml.yaml").read_text()
TREE = yaml.safe_load(EXAMPLE)
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
PIECES = (
    *("{", "}", "[", "]", ": ", ", ", "- ", "\n", "\n  ", "\t", "'", '"', "|", ">-", "#", "? ", "&a ", "*a", "<<: "),
    *("!!x ", "%", "---", "...", "\0", "\ud7ff", "😀", "{{ params.x }}", "~", "true", "1e999", "9" * 50, "0x1f"),
    *("name", "sources", "steps", "sinks", "from", "filter", "join", "s", "csv", "aggregate", "key_by"),
)  # fmt: skip
FORMS = (*STEP_FORMS.values(), *SOURCE_FORMS.values(), Sink)
OTHERS = ("x", "cpu_cores", "memory", "driver_memory", "conf", "secret", "field", "file")
KEYS = sorted(
    {str(field.alias) for form in FORMS for field in form.model_fields.values()} | {*SETTING_KEYS, *WINDOWS, *OTHERS}
)
SECTIONS = ("params", "config", "sources", "steps", "sinks")
leaf = st.sampled_from(
    ["s", "t", "a", "x > 0", "1 hour", "inner", "", "tests.yaml.yaml_functions:one", 1, 0, -3, 0.5, True, None]
)  # fmt: skip
value = st.recursive(
    leaf,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
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


MUTATIONS = ("drop", "rename", "replace", "copy", "wrap")


def places_in(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value below the top."""
    items = list(tree.items()) if isinstance(tree, dict) else list(enumerate(tree)) if isinstance(tree, list) else []
    return [place for key, item in items for place in ((*path, key), *places_in(item, (*path, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """An example in which a few keys or values are dropped, renamed, replaced, copied elsewhere or wrapped."""
    tree = deepcopy(TREE)
    for _ in range(draw(st.integers(1, 3))):
        places = places_in(tree)
        *above, key = draw(st.sampled_from(places))
        parent = tree
        for part in above:
            parent = parent[part]
        match draw(st.sampled_from(MUTATIONS)):
            case "drop":
                del parent[key]
            case "rename" if isinstance(parent, dict):
                parent[draw(st.sampled_from(KEYS))] = parent.pop(key)
            case "copy" if isinstance(parent, dict):
                parent[draw(st.sampled_from(KEYS))] = parent[key]
            case "wrap":
                parent[key] = draw(st.sampled_from([[parent[key]], {"x": parent[key]}, str(parent[key])]))
            case _:
                parent[key] = draw(value)
    return str(yaml.dump(tree, Dumper=DUMPER, sort_keys=False, allow_unicode=True))


def read(text: str) -> None:
    """Read and compile."""
    file = "/nowhere/p.yaml"
    try:
        problems: tuple[Problem, ...] = ()
        compile_pipeline(parse_pipeline(text, file))
    except InvalidPipelineError as error:
        problems = all_problems(error)
    lines = len(text.splitlines()) + 1
    for problem in problems:
        assert problem.message
        assert problem.declared_at is not None
        assert problem.declared_at.file == file
        assert 1 <= problem.declared_at.line <= lines


any_text = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
any_values = st.fixed_dictionaries({"name": leaf, **dict.fromkeys(SECTIONS, value)}).map(json.dumps)
any_steps = st.lists(nearly_right() | entry, max_size=4).map(lambda steps: f"{HEAD}steps: {json.dumps(steps)}")


@st.composite
def with_a_piece_in_the_wrong_place(draw: st.DrawFn) -> str:
    begin = draw(st.integers(0, len(EXAMPLE)))
    end = draw(st.integers(begin, min(begin + 30, len(EXAMPLE))))
    return EXAMPLE[:begin] + draw(st.sampled_from(PIECES)) + EXAMPLE[end:]


@st.composite
def right_but_for_a_key(draw: st.DrawFn) -> str:
    steps = [getattr(draw(st.sampled_from(CASES)), "steps", "")[1:-1] for _ in range(2)]
    key, item = draw(st.sampled_from(KEYS)), draw(value)
    wrong = steps[1].replace("}", f", {key}: {json.dumps(item)}}}", 1)
    return f"{HEAD}steps: [{steps[0]}, {wrong}]"


FILES = {
    "any text": (any_text, 100),
    "any values": (any_values, 80),
    "any steps": (any_steps, 60),
    "an example with a piece in the wrong place": (with_a_piece_in_the_wrong_place(), 40),
    "an example with other values": (mutated(), 40),
    "steps that are right but for a key": (right_but_for_a_key(), 60),
}


@pytest.mark.parametrize(("texts", "examples"), FILES.values(), ids=FILES)
def test_any_document_is_a_pipeline_or_refused_with_a_message(texts: st.SearchStrategy[str], examples: int) -> None:
    check(texts, examples)


@pytest.mark.long
@pytest.mark.parametrize(("texts", "examples"), FILES.values(), ids=FILES)
def test_many_random_documents_are_pipelines_or_refused(texts: st.SearchStrategy[str], examples: int) -> None:
    check(texts, 30 * examples)


def check(texts: st.SearchStrategy[str], examples: int) -> None:
    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(texts)
    def each(text: str) -> None:
        read(text)

    each()
