"""A pipeline written as YAML and read again is the same pipeline."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from graph_compiler import (
    Csv,
    DataStream,
    InvalidPipelineError,
    Parquet,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    Values,
)
from graph_compiler.cli.app import app
from graph_compiler.declaration import Pipeline
from graph_compiler.declaration.operators import Operator
from graph_compiler.declaration.transformations import FeedbackTransformation
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.reader import parse_pipeline, read_pipeline
from pipelines.flights import env as flights
from tests.properties.strategies import Step, declare, plans
from tests.yaml.equality import assert_equal, without_lines
from tests.yaml.test_yaml_operator_table import CASES, SOURCES, Case

FILE = Path(__file__).parents[2] / "pipelines" / "flights_yaml.yaml"


@pytest.mark.parametrize("pipeline", [flights.pipeline(), read_pipeline(FILE)], ids=["py", "yaml"])
def test_the_flights_example_is_exported(pipeline: object) -> None:
    assert_equal(parse_pipeline(export_pipeline(pipeline), "p.yaml"), pipeline)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.steps[:70])
def test_every_call_is_exported(case: Case) -> None:
    env = StreamExecutionEnvironment("p", config={"parallelism.default": 2}, params={"on": "1e3"})
    case.declare(*(env.from_source(Parquet(f"/{name}"), name) for name in ("s", "t")))
    kept = without_lines(env.pipeline())
    found = without_lines(parse_pipeline(export_pipeline(kept), "p.yaml"))
    assert operators(found) == operators(kept)
    # A stream that nothing reads is in no pipeline, and the ids behind it are one less when it is read again.
    if [t.id for t in kept.transformations] == list(range(1, len(kept.transformations) + 1)):
        assert found == kept
    assert replace(found, transformations=()) == replace(kept, transformations=())


def operators(pipeline: Pipeline) -> list[Operator]:
    return [transformation.operator for transformation in pipeline.operators]


@pytest.mark.parametrize("connector", [c for _, c in SOURCES], ids=lambda c: type(c).__name__)
def test_every_connector_is_exported(connector: object) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(connector, "s").limit(1)  # type: ignore[arg-type]
    found = parse_pipeline(export_pipeline(env.pipeline()), "p.yaml")
    assert without_lines(found) == without_lines(env.pipeline())


@settings(max_examples=40)
@given(plans(same_tasks=True))
def test_any_pipeline_survives_export_and_reading(plan: tuple[Step, ...]) -> None:
    pipeline = declare(plan).pipeline()
    assert_equal(parse_pipeline(export_pipeline(pipeline), "p.yaml"), pipeline)


def test_the_export_command_prints_the_file() -> None:
    written = CliRunner().invoke(app, ["export", "flights", "--to", "yaml"])
    assert written.exit_code == 0
    assert_equal(parse_pipeline(written.output, "p.yaml"), flights.pipeline())


def test_an_exported_file_has_no_paths_of_this_machine_and_says_what_it_shares() -> None:
    written = CliRunner().invoke(app, ["export", "flights"]).output
    assert str(Path.cwd()) not in written
    assert "  input:\n    default: data/nycflights13\n    format: path\n" in written
    assert written.splitlines()[1] == (
        "# Exported from pipelines/flights.py: it has the same name and the same targets. "
        "Change them, or keep only one of the two files."
    )


def test_an_exported_pipeline_can_have_its_own_name() -> None:
    written = CliRunner().invoke(app, ["export", "flights", "--name", "flights_too"]).output
    assert "it has the same targets." in written
    pipeline = flights.pipeline()
    assert_equal(parse_pipeline(written, "p.yaml"), replace(pipeline, name="flights_too"))


def test_partitions_are_written_in_the_step_that_reads_them() -> None:
    written = export_pipeline(flights.pipeline())
    assert "  join:\n    from: carriers\n    broadcast: true\n" in written
    assert "- name: lateness\n  key_by: [carrier, origin, dest]\n  aggregate:\n" in written


def test_a_partition_that_another_step_reads_too_has_its_own_step() -> None:
    env = StreamExecutionEnvironment("p")
    left, right = (env.from_source(Parquet(f"/{name}"), name) for name in ("left", "right"))
    everywhere = right.broadcast()
    for number in range(2):
        joined = left.join(everywhere, on="id").name(f"joined_{number}")
        joined.sink_to(Parquet(f"/out/{number}")).name(f"sink_{number}")
    written = export_pipeline(env.pipeline())
    assert "- as: broadcast\n  from: right\n  broadcast: true\n" in written
    assert_equal(parse_pipeline(written, "p.yaml"), env.pipeline())


def test_operators_without_a_call_cannot_be_exported() -> None:
    env = StreamExecutionEnvironment("p")
    stream = env.from_source(Csv("/in"), "s").limit(1)
    env.add(FeedbackTransformation(id=env.next_id(), inputs=(stream.id,)))
    DataStream(env, stream.id + 1).filter("x")
    with pytest.raises(InvalidPipelineError, match="it has no call in YAML"):
        export_pipeline(env.pipeline())


def test_duplicate_names_are_exported_unchanged() -> None:
    env = StreamExecutionEnvironment("p")
    one, other = (env.from_source(Csv(f"/{number}"), "in") for number in (1, 2))
    kept = one.filter("x").name("a").filter("y").name("a")
    kept.sink_to(Csv("/a")).name("a")
    kept.join(other, on="z").name("in").sink_to(Csv("/b")).name("b")
    other.limit(3).sink_to(Csv("/c"))
    found = parse_pipeline(export_pipeline(env.pipeline()), "p.yaml")
    assert_equal(found, env.pipeline())


def test_text_that_looks_like_another_type_stays_text() -> None:
    env = StreamExecutionEnvironment("p")
    texts = {"a": "1e3", "on": "null", "c": "0x1f", "d": "a\n  b\n", "e": ": #", "f": "{{ x }}", "g": "2013-01-31"}
    env.from_source(Csv("{{ params.x }}/in"), "s").with_columns(texts)
    found = parse_pipeline(export_pipeline(env.pipeline()), "p.yaml")
    assert without_lines(found) == without_lines(env.pipeline())


@pytest.mark.parametrize("group", ["big", SlotSharingGroup("big")])
def test_a_group_without_settings_is_written_as_its_name(group: str | SlotSharingGroup) -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "in").slot_sharing_group(group).sink_to(Parquet("/out"))
    assert "slot_sharing_group: big\n" in export_pipeline(env.pipeline())


NUMBER_LIKE = ("1.10", "007", "1e3", "1e+16", "0x1F", "+5", "5", "1.5", ".5", "9" * 41, "true", "True", "yes", "1:30")
EMPTY = ("", "~", "null", "NULL", "{}", "[]", "-", "?", "!", "!!str x", "&a", "*a", "=", "<<", "#", " # ", "---", "%x")
PIECES = (
    "a",
    " ",
    "\n",
    "\t",
    "\r",
    "\0",
    "\x7f",
    "\x85",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\ufffe",
    "😀",
    "'",
    '"',
    ": ",
    ",",
)
texts = st.sampled_from((*NUMBER_LIKE, *EMPTY)) | st.lists(st.sampled_from(PIECES), max_size=6).map("".join) | st.text()


def test_texts_that_look_like_something_else_survive_export_and_reading() -> None:
    odd = dict(enumerate((*NUMBER_LIKE, *EMPTY, *PIECES, *(f"a{piece}b" for piece in PIECES))))
    env = StreamExecutionEnvironment("p", config={f"spark.{number}": text for number, text in odd.items()})
    env.from_source(Csv("/in"), "s").with_columns({f"c{number}": text for number, text in odd.items()})
    found = parse_pipeline(export_pipeline(env.pipeline()), "p.yaml")
    assert found.config == env.pipeline().config
    assert without_lines(found) == without_lines(env.pipeline())


@settings(max_examples=60)
@given(text=texts, key=texts.filter(lambda key: key != "<<"), number=st.floats(allow_nan=False, allow_infinity=False))
def test_any_text_and_number_survives_export_and_reading(text: str, key: str, number: float) -> None:
    env = StreamExecutionEnvironment("p", config={"spark.text": text, f"spark.x{key}": str(number)}, description=text)
    rows = env.from_source(
        Values([(text, number, (key, text)), (key, 1, ())], "a STRING, b DOUBLE, c ARRAY<STRING>"), "s"
    )
    rows.with_columns({key: text}).sql(text).drop(text, key).sink_to(Csv("/out", options={key: text}))
    found = parse_pipeline(export_pipeline(env.pipeline()), "p.yaml")
    assert without_lines(found) == without_lines(env.pipeline())


def test_a_text_that_yaml_does_not_have_is_refused() -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in"), "s").filter("a = '\ud800'")
    with pytest.raises(InvalidPipelineError, match="its YAML would be refused: not valid YAML"):
        export_pipeline(env.pipeline())


def test_what_would_be_read_as_something_else_is_refused() -> None:
    env = StreamExecutionEnvironment("p")
    env.from_source(Values([(float("inf"),)], "a DOUBLE"), "numbers").limit(1)
    with pytest.raises(InvalidPipelineError, match="it would be read as something else") as refused:
        export_pipeline(env.pipeline())
    assert [problem.operator for problem in refused.value.problems] == ["numbers"]
