import math
from collections.abc import Callable
from datetime import date
from enum import Enum
from typing import Any, Literal
from uuid import uuid4

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel, SecretStr, field_validator, model_validator

from graph_compiler import Csv, InvalidPipelineError, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.parameters.parameter import Parameter, read_parameters
from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter
from graph_compiler.errors import ParameterError


class Region(Enum):
    """An enum."""

    EUROPE = "eu"
    AMERICA = "us"


class Flights(BaseModel):
    """Fields of every kind, and validators of every kind."""

    late_after: int = Field(15, ge=0, le=600, description="Minutes.")
    carrier: str = Field("AA", pattern="^[A-Z]{2}$")
    region: Region = Region.EUROPE
    mode: Literal["fast", "full"] = "fast"
    only: Literal["x"] = "x"
    since: date = date(2013, 1, 1)
    share: float = 1
    counts: bool = True

    @field_validator("carrier")
    @classmethod
    def _known(cls, value: str) -> str:
        if value == "ZZ":
            raise ValueError("nobody flies as ZZ")
        return value

    @model_validator(mode="after")
    def _agree(self) -> "Flights":
        if self.mode == "full" and not self.counts:
            raise ValueError("a full run counts")
        return self


def environment(params: Any) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p", params=params)
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    return env


def test_a_default_alone_is_a_parameter_of_its_type() -> None:
    found, problems = read_parameters({"a": "x", "b": 1, "c": 1.5, "d": True})
    assert problems == ()
    assert found == (
        Parameter(name="a", default="x", schema='{"type": "string"}'),
        Parameter(name="b", default=1, schema='{"type": "integer"}'),
        Parameter(name="c", default=1.5, schema='{"type": "number"}'),
        Parameter(name="d", default=True, schema='{"type": "boolean"}'),
    )


def test_a_mapping_gives_more_settings_of_a_parameter() -> None:
    (found,), _ = read_parameters({"share": {"default": 1, "type": "number", "maximum": 2}})
    assert found.default == 1.0
    assert isinstance(found.default, float), "1.5 is to be allowed, too"
    assert found.keywords == {"type": "number", "maximum": 2}


def test_a_model_declares_a_parameter_per_field() -> None:
    found = {one.name: one for one in environment(Flights).pipeline().parameters}
    assert {name: one.default for name, one in found.items()} == {
        "late_after": 15,
        "carrier": "AA",
        "region": "eu",
        "mode": "fast",
        "only": "x",
        "since": "2013-01-01",
        "share": 1.0,
        "counts": True,
    }
    assert found["late_after"].keywords == {
        "type": "integer",
        "title": "Late After",
        "description": "Minutes.",
        "minimum": 0,
        "maximum": 600,
    }
    assert found["region"].keywords["enum"] == ["eu", "us"]
    assert found["mode"].keywords["enum"] == ["fast", "full"]
    assert found["only"].keywords["enum"] == ["x"]
    assert found["since"].keywords["format"] == "date"


class Aliased(BaseModel):
    """Fields with aliases, without extra fields; a strict date."""

    model_config = ConfigDict(extra="forbid")

    least: int = Field(3, alias="Least")
    since: date = Field(date(2013, 1, 1), strict=True)

    @field_validator("least")
    @classmethod
    def _odd(cls, value: int) -> int:
        if value % 2 == 0:
            raise KeyError("not odd")
        return value


class Different(BaseModel):
    """A default that differs each time."""

    run: str = Field(default_factory=lambda: uuid4().hex)


class Refusing(BaseModel):
    """Its own defaults are refused."""

    least: int = 1

    @model_validator(mode="after")
    def _never(self) -> "Refusing":
        raise ValueError("never")


class Calling(BaseModel):
    """A default that JSON cannot represent."""

    how: Callable[[], int] = int


class Hiding(BaseModel):
    """A field that the schema does not contain."""

    least: int = Field(1, exclude=True)


def model(**fields: Any) -> type[BaseModel]:
    return type("Params", (BaseModel,), {"__annotations__": fields, **_defaults(fields)})


def _defaults(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: None for name, kind in fields.items() if kind == int | str | None}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"x": None}, "params.x: its default is None"),
        ({"x": [[1]]}, "params.x: its default is [[1]]"),
        ({"x": {"minimum": 1}}, "params.x: its default is None"),
        ({"a-b": 1}, "params.a-b: 'a-b' cannot be a parameter's name"),
        ({"x": {"default": 1, "minimun": 0}}, "did you mean 'minimum'?"),
        ({"x": {"default": "s", "format": "password"}}, "params.x: it is a secret"),
        ({"x": {"default": 1, "type": ["integer", "null"]}}, "params.x: it has several types"),
        ({"run_date": "x"}, "params.run_date: it is built in"),
        ({"items": 1}, "in a template, params.items is a method"),
        ({None: 1}, "'None' cannot be a parameter's name"),
        ({"x": math.nan}, "params.x: its default is nan"),
        ({"x": 2**63}, "allowed: a 64-bit whole number"),
        ({"x": {"default": 1, 5: 6}}, "a parameter has no keyword '5'"),
        ({"x": {"default": 1, "enum": {1}}}, "params.x: its 'enum' is {1}"),
        (Different, "the next time"),
        (Refusing, "Refusing cannot be read: params: Value error, never"),
        (Calling, "Calling cannot be read"),
        (Hiding, "params.least: its default is None"),
        (RootModel[int], "it is not a mapping of fields"),
        ([1], "params: is [1]"),
        (int, "params: is <class 'int'>"),
        (model(x=int), "params.x: the field of Params has no default"),
        (model(x=int | str | None), "params.x: it has several types"),
        (type("P", (BaseModel,), {"__annotations__": {"x": SecretStr}, "x": SecretStr("s")}), "it is a secret"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(params: Any, words: str) -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        environment(params)
    assert words in str(refused.value)


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        environment({"x": None, "y": [], "z": 1})
    assert [problem.key for problem in refused.value.problems] == ["params.x", "params.y"]


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"default": -1, "minimum": 0}, "its default is -1\n    allowed: at least 0"),
        ({"default": "c", "enum": ["a", "b"]}, "allowed: one of a, b"),
        ({"default": "a", "type": "integer"}, "allowed: a value of type integer"),
        ({"default": "soon", "format": "date"}, "allowed: a date"),
        ({"default": "a", "pattern": "(("}, "its 'pattern' is wrong: '((' is not a 'regex'"),
    ],
    ids=str,
)
def test_a_default_its_own_schema_refuses_is_refused(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        compile_pipeline(environment({"x": schema}).pipeline())
    assert f"params.x: {words}" in str(refused.value) or words in str(refused.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"late_after": 601}, "params.late_after: is 601\n  allowed: at most 600"),
        ({"carrier": "aa"}, "params.carrier: is 'aa'\n  allowed: text in which ^[A-Z]{2}$ is found"),
        ({"region": "asia"}, "params.region: is 'asia'\n  allowed: one of eu, us"),
        ({"carrier": "ZZ"}, "params.carrier: Value error, nobody flies as ZZ"),
        ({"mode": "full", "counts": False}, "params: Value error, a full run counts"),
    ],
    ids=str,
)
def test_values_are_checked_by_schema_and_by_the_models_own_validators(values: dict[str, Any], words: str) -> None:
    pipeline = environment(Flights).pipeline()
    check_parameters(pipeline, {"late_after": 600, "run_date": "2013-01-01"})
    with pytest.raises(ParameterError) as refused:
        check_parameters(pipeline, values)
    assert str(refused.value) == words


def test_a_model_is_validated_by_field_names() -> None:
    pipeline = environment(Aliased).pipeline()
    check_parameters(pipeline, {"least": 5, "since": "2013-01-02"})
    with pytest.raises(ParameterError, match="params: KeyError: 'not odd'"):
        check_parameters(pipeline, {"least": 4})


@pytest.mark.parametrize("text", ["nan", "inf", "-Infinity", "1e999"])
def test_nan_and_infinity_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="allowed: float"):
        parse_parameter("share", text, {"share": 1.5})


def test_integers_beyond_64_bits_are_refused() -> None:
    assert parse_parameter("least", str(-(2**63)), {"least": 1}) == -(2**63)
    with pytest.raises(ParameterError, match="allowed: int"):
        parse_parameter("least", str(2**63), {"least": 1})


def test_parameters_do_not_change_the_plan() -> None:
    plain = environment({"late_after": 15}).pipeline()
    described = environment({"late_after": {"default": 15, "minimum": 0}}).pipeline()
    assert compile_pipeline(plain).job_graph == compile_pipeline(described).job_graph
