"""Read a pydantic model as parameters: its schema and its defaults, without importing pydantic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graph_compiler.declaration.parameters.typed_value import SQL_TYPE
from graph_compiler.errors import Problem
from graph_compiler.identifiers import shown

KEYWORDS = (
    "type",
    "title",
    "description",
    "description_md",
    "section",
    "enum",
    "values_display",
    "examples",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "sql_type",
)
"""What a parameter may have besides its default: JSON Schema's keywords for one value, and Airflow's for forms."""


def read_model(model: Any) -> tuple[dict[str, tuple[Any, dict[str, Any]]], tuple[Problem, ...]]:
    """Return the fields of a model, each with its default as a JSON value and its schema."""
    try:
        schema = model.model_json_schema(by_alias=False)
    except Exception as error:  # any exception: pydantic raises different ones for types without a JSON form
        return {}, (_no_parameters(model, words_of(error)),)
    if schema.get("type") != "object":
        return {}, (_no_parameters(model, "it is not a mapping of fields"),)
    required = schema.get("required", ())
    if required:
        return {}, tuple(
            Problem(
                key=f"params.{name}",
                message=f"the field of {model.__name__} has no default",
                hint="a scheduled run needs a value",
            )
            for name in required
        )
    try:
        defaults, again = (model().model_dump(mode="json", by_alias=False, warnings=False) for _ in range(2))
    except Exception as error:  # its validators and factories may raise any exception
        return {}, (_no_parameters(model, words_of(error)),)
    fields = {name: _resolved(field, schema.get("$defs", {})) for name, field in schema.get("properties", {}).items()}
    problems = tuple(
        Problem(
            key=f"params.{name}",
            message=f"its default is {shown(defaults[name])}, and {shown(again[name])} the next time",
            allowed="a default that is always the same",
            hint="a default that changes would make a new version of the Dag each time it is read",
        )
        for name in fields
        if name in defaults and defaults[name] != again[name]
    )
    return {
        name: (defaults.get(name), field)
        for name, field in fields.items()
        if f"params.{name}" not in {problem.key for problem in problems}
    }, problems


def _no_parameters(model: Any, reason: str) -> Problem:
    return Problem(
        key="params",
        message=f"the fields and defaults of {model.__name__} cannot be read: {reason}",
        allowed="a pydantic model of fields, all with defaults that it accepts",
    )


def refusals_of(error: Exception) -> list[tuple[str, str]]:
    """Return the errors of a model with their keys; any other exception of its code concerns the whole model."""
    details = error.errors() if hasattr(error, "errors") else ()
    found = [(".".join(["params", *map(str, each["loc"])]), str(each["msg"])) for each in details]
    return found or [("params", f"{type(error).__name__}: {error}")]


def words_of(error: Exception) -> str:
    """Return all errors of an exception in one line."""
    return "; ".join(f"{key}: {words}" for key, words in refusals_of(error))


def _resolved(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Replace references to definitions (of an Enum) by the definitions; leave out keywords that nothing here uses."""
    referred = definitions.get(str(field.get("$ref", "")).rpartition("/")[2], {})
    whole = {**referred, **field}
    if "const" in whole:  # a Literal with one value
        whole["enum"] = [whole["const"]]
    found = {key: value for key, value in whole.items() if key in (*KEYWORDS, "anyOf")}
    return found if SQL_TYPE in found else {**found, **_sql_type(found)}


_SQL: Mapping[str, str] = {"string": "STRING", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}


def _sql_type(field: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of a list, and of a field that may be None; nothing for others, and for those without one."""
    kinds = [each for each in field.get("anyOf", ()) if each.get("type") != "null"]
    is_list = field.get("type") == "array"
    if len(kinds) == 1 and len(field["anyOf"]) == 2:
        field = kinds[0]
        is_list = field.get("type") == "array"
    elif not is_list:
        return {}
    one = field.get("items", {}) if is_list else field
    name = "DATE" if one.get("format") == "date" else _SQL.get(str(one.get("type")))
    if name is None:
        return {}
    said = {key: value for key, value in field.items() if key in KEYWORDS}
    return {**said, SQL_TYPE: f"ARRAY<{name}>" if is_list else name}
