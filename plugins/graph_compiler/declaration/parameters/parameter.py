"""The parameters of a run: their names, defaults and schemas.

    params={"late_after": 15}                                           a default, whose type is the parameter's
    params={"late_after": {"default": 15, "minimum": 0, "title": "…"}}  with keywords of JSON Schema
    params=FlightsParams                                                a pydantic model: one parameter for each field

A model provides its schema and validates values. Pydantic itself is not imported here: Spark's driver may import the
same declaration for its functions, and does not need to have pydantic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

from graph_compiler.declaration.parameters.models import KEYWORDS, read_model
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, shown

ParameterValue: TypeAlias = str | int | float | bool
Params: TypeAlias = Mapping[str, Any] | type[Any]

RUN_DATE = "run_date"
"""The parameter that every run has without a declaration: its logical date, or the day on which it runs."""
JSON_TYPES: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ALLOWED = "a str, int, float or bool, or a mapping with one as its 'default'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter. `schema` is JSON Schema as JSON text, without the default, keys sorted."""

    name: str
    default: ParameterValue
    schema: str

    @property
    def keywords(self) -> dict[str, Any]:
        """Return the schema as a mapping; it always has a `type`."""
        found: dict[str, Any] = json.loads(self.schema)
        return found

    @property
    def is_plain(self) -> bool:
        """Whether it has only a default."""
        return self.keywords == {"type": JSON_TYPES[type(self.default)]}


def is_model(params: object) -> bool:
    """Whether it is a pydantic model, without pydantic."""
    return isinstance(params, type) and hasattr(params, "model_json_schema")


def read_parameters(params: Params) -> tuple[tuple[Parameter, ...], tuple[Problem, ...]]:
    """Return the valid parameters, and the problems of the others; a Problem's key is `params.<name>`."""
    if not isinstance(params, Mapping) and not is_model(params):
        problem = Problem(key="params", message=f"is {params!r}", allowed="a mapping, or a pydantic model")
        return (), (problem,)
    described, problems = (_written(params), ()) if isinstance(params, Mapping) else read_model(params)
    found: list[Parameter] = []
    for name, (written, schema) in described.items():
        is_whole_number = schema.get("type") == "number" and type(written) is int
        default = float(written) if is_whole_number else written
        if wrong := _refusal(name, default, schema):
            problems = (*problems, wrong)
        else:
            typed = {"type": JSON_TYPES[type(default)], **schema}
            found.append(Parameter(name=name, default=default, schema=json.dumps(typed, sort_keys=True)))
    return tuple(found), problems


def _written(params: Mapping[str, Any]) -> dict[str, tuple[Any, dict[str, Any]]]:
    return {
        name: (given.get("default"), {key: value for key, value in given.items() if key != "default"})
        if isinstance(given, Mapping)
        else (given, {})
        for name, given in params.items()
    }


def _refusal(name: object, default: object, schema: Mapping[str, Any]) -> Problem | None:
    key = f"params.{name}"
    return _wrong_name(key, name) or _wrong_default(key, default, schema) or _unknown_keyword(key, schema)


def _wrong_name(key: str, name: object) -> Problem | None:
    if not isinstance(name, str) or not name.isidentifier():
        return Problem(key=key, message=f"'{name}' cannot be a parameter's name", allowed="a valid Python name")
    if name == RUN_DATE:
        return Problem(key=key, message="it is built in: every run has it")
    if hasattr(dict, name):
        return Problem(
            key=key,
            message=f"'{name}' cannot be a parameter's name",
            hint=f"in a template, params.{name} is a method of Python's mappings",
        )
    return None


def _wrong_default(key: str, default: object, schema: Mapping[str, Any]) -> Problem | None:
    if "anyOf" in schema or isinstance(schema.get("type"), list):
        return Problem(
            key=key, message="it has several types", allowed="one of str, int, float, bool, Literal, Enum, date"
        )
    if schema.get("format") == "password":
        return Problem(
            key=key,
            message="it is a secret",
            hint="Airflow shows parameters to everyone who can see the run: use Secret(…) where "
            "the connector takes one",
        )
    if type(default) not in JSON_TYPES:
        return Problem(key=key, message=f"its default is {shown(default)}", allowed=_ALLOWED)
    if not is_bindable(default):
        return Problem(
            key=key,
            message=f"its default is {shown(default)}",
            allowed="a 64-bit whole number" if isinstance(default, int) else "a finite number",
        )
    return None


def is_bindable(value: object) -> bool:
    """Whether a value is not a number, or a number that both Spark and JSON can represent."""
    if isinstance(value, float):
        return isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _unknown_keyword(key: str, schema: Mapping[str, Any]) -> Problem | None:
    """Return the problem of a parameter's keyword or of its value, None if there is none."""
    for keyword, said in schema.items():
        if keyword not in KEYWORDS:
            return Problem(
                key=key,
                message=f"a parameter has no keyword '{keyword}'",
                allowed=", ".join(["default", *KEYWORDS]),
                hint=did_you_mean(str(keyword), KEYWORDS),
            )
        if not _is_json(said):
            return Problem(key=key, message=f"its '{keyword}' is {shown(said)}", allowed="a JSON value")
    return None


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class ParameterReference:
    """A reference to the run's value of a parameter, or of `run_date`."""

    name: str

    def __str__(self) -> str:
        """Return it in the form used in expressions: `:least`."""
        return f":{self.name}"


Argument: TypeAlias = str | int | float | bool | ParameterReference
"""What a function's keyword can be bound to."""


def param(name: str) -> ParameterReference:
    """Return a reference to a parameter, which each run replaces by its value."""
    return ParameterReference(name)
