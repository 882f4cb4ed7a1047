"""The parameters of a run: their names, defaults and schemas.

    params={"late_after": 15}                                           a default, whose type is the parameter's
    params={"late_after": {"default": 15, "minimum": 0, "title": "…"}}  with keywords of JSON Schema
    params={"ids": {"default": [1, 2], "sql_type": "ARRAY<BIGINT>"}}    a list, a date, a decimal or NULL, with its type
    params=FlightsParams                                                a pydantic model: one parameter for each field

A model provides its schema and validates values. Pydantic itself is not imported here: Spark's driver may import the
same declaration for its functions, and does not need to have pydantic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import isfinite
from typing import Any, TypeAlias

from graph_compiler.declaration.parameters.models import KEYWORDS, read_model
from graph_compiler.declaration.parameters.typed_value import (
    SQL_TYPE,
    SQL_TYPES,
    PythonValue,
    TypedValue,
    inferred_type,
    json_schema_of,
    sql_type_of,
    typed_value,
)
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, shown

ParameterValue: TypeAlias = str | int | float | bool | TypedValue
Params: TypeAlias = Mapping[str, Any] | type[Any]

RUN_DATE = "run_date"
"""The parameter that every run has without a declaration: its logical date, or the day on which it runs."""
JSON_TYPES: Mapping[type, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_ALLOWED = "a str, int, float, bool or date, a list of one of them, or a mapping with one as its 'default'"


def json_value(value: ParameterValue) -> object:
    """Return a value as JSON has it, as forms, triggers and templates see it."""
    return value.json if isinstance(value, TypedValue) else value


def python_value(value: ParameterValue) -> PythonValue:
    """Return a value as functions and Spark get it: a `date`, a `Decimal`, a list or None for a typed one."""
    return value.python if isinstance(value, TypedValue) else value


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
        is_typed = isinstance(self.default, TypedValue)
        return not is_typed and self.keywords == {"type": JSON_TYPES[type(self.default)]}


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
        if (kind := _type_asked(written, schema)) is not None:
            typed_problem, parameter = _typed(name, kind, written, schema)
            problems = problems if typed_problem is None else (*problems, typed_problem)
            found += [] if parameter is None else [parameter]
            continue
        is_whole_number = schema.get("type") == "number" and type(written) is int
        default = float(written) if is_whole_number else written
        if wrong := _refusal(name, default, schema):
            problems = (*problems, wrong)
        else:
            typed = {"type": JSON_TYPES[type(default)], **schema}
            found.append(Parameter(name=name, default=default, schema=json.dumps(typed, sort_keys=True)))
    return tuple(found), problems


def _type_asked(default: object, schema: Mapping[str, Any]) -> object:
    """Return the type that a parameter declares, or that its default shows; None if it is a plain one."""
    if SQL_TYPE in schema:
        return schema[SQL_TYPE]
    return "DATE" if type(default) is date else inferred_type(default)


def _typed(
    name: object, asked: object, default: object, schema: Mapping[str, Any]
) -> tuple[Problem | None, Parameter | None]:
    """Return a parameter with a type in SQL, or its problem."""
    key, kind = f"params.{name}", sql_type_of(asked)
    rest = {word: said for word, said in schema.items() if word not in (SQL_TYPE, "anyOf", "type", "items")}
    if wrong := _wrong_name(key, name) or _unknown_keyword(key, rest):
        return wrong, None
    if kind is None:
        return Problem(key=key, message=f"its sql_type is {shown(asked)}", allowed=SQL_TYPES), None
    try:
        value = typed_value(kind, default)
    except ValueError as error:
        return Problem(key=key, message=f"its default is {shown(default)}", allowed=f"{error}, or None for NULL"), None
    keywords = {**json_schema_of(kind), **rest, SQL_TYPE: kind}
    if default is None or _may_be_null(schema):
        keywords["type"] = ["null", keywords["type"]]
        if isinstance(rest.get("enum"), list) and None not in rest["enum"]:
            keywords["enum"] = [*rest["enum"], None]
    assert isinstance(name, str), "its name was checked"
    return None, Parameter(name=name, default=value, schema=json.dumps(keywords, sort_keys=True))


def _may_be_null(schema: Mapping[str, Any]) -> bool:
    kinds = [each.get("type") for each in schema.get("anyOf", ()) if isinstance(each, Mapping)]
    said = schema.get("type")
    return "null" in kinds or (isinstance(said, list) and "null" in said)


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
            key=key,
            message="it has several types",
            allowed="one of str, int, float, bool, Literal, Enum, date",
            hint=_NAME_ITS_TYPE,
        )
    if schema.get("format") == "password":
        return Problem(
            key=key,
            message="it is a secret",
            hint="Airflow shows parameters to everyone who can see the run: use Secret(…) where "
            "the connector takes one",
        )
    if type(default) not in JSON_TYPES:
        is_typed = default is None or isinstance(default, list | tuple | Decimal)
        hint = _NAME_ITS_TYPE if is_typed else None
        return Problem(key=key, message=f"its default is {shown(default)}", allowed=_ALLOWED, hint=hint)
    if not is_bindable(default):
        return Problem(
            key=key,
            message=f"its default is {shown(default)}",
            allowed="a 64-bit whole number" if isinstance(default, int) else "a finite number",
        )
    return None


_NAME_ITS_TYPE = (
    'name its type in SQL: {"default": …, "sql_type": "DECIMAL(4, 2)"}; in a model, '
    'Field(…, json_schema_extra={"sql_type": "DATE"})'
)


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
