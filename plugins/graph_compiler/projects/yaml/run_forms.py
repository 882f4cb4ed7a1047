"""How a pipeline is run, read and written: its parameters, its schedule, and Airflow's own arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
    create_model,
    model_validator,
)

from graph_compiler.declaration.dag.airflow_arguments import AirflowArguments, DagArguments, TaskArguments
from graph_compiler.declaration.dag.schedule import PRESETS, Schedule
from graph_compiler.declaration.parameters.parameter import JSON_TYPES, Parameter
from graph_compiler.declaration.parameters.typed_value import TypedValue, json_schema_of, sql_type_of
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.errors import FunctionNotImportableError, InvalidPipelineError, Problem
from graph_compiler.options.durations import format_duration, parse_duration_with_unit
from graph_compiler.projects.yaml.forms import TAG, Columns, Form, Names, PlainValue, either, refused, shown_value
from graph_compiler.projects.yaml.references import find_function, name_of
from graph_compiler.projects.yaml.tree import as_written, without_other_numbers

PATH = "path"
"""Our own format for a default that is a path: a relative one starts at the project's folder."""


JsonType = Literal["string", "integer", "number", "boolean", "array"]


def _default(value: object) -> object:
    """Return a default: a plain value, a list of them, or null."""
    items = value if isinstance(value, list) else [value]
    if not all(item is None or isinstance(item, PlainValue) for item in items):
        raise refused(f"is {shown_value(value)}", "text, a number, true or false, null, or a list of these")
    return value


def _bare_default(value: object) -> object:
    """Return a default without keywords, whose type is the parameter's: null has none."""
    if value is None:
        raise refused("is empty", "a value; for NULL {default: null, sql_type: DATE}")
    return _default(value)


def _unambiguous(given: Any) -> Any:
    """Return a mapping whose numbers are Unclear if their text, which a template has, is not what is written."""
    if not isinstance(given, dict):
        return given
    plain: Any = without_other_numbers(given)
    return {key: without_other_numbers(value) if isinstance(value, list) else value for key, value in plain.items()}


_JSON_VALUE = {"type": ["string", "number", "boolean", "null"]}
_JSON_DEFAULT = WithJsonSchema({"anyOf": [_JSON_VALUE, {"type": "array", "items": _JSON_VALUE}]})
Default = Annotated[Any, PlainValidator(_default), _JSON_DEFAULT]
BareDefault = Annotated[Any, PlainValidator(_bare_default), _JSON_DEFAULT]


class ParameterForm(Form):
    """A parameter with its keywords: JSON Schema's for one value, and Airflow's for its form."""

    default: Default
    sql_type: str | None = Field(
        default=None, description="The type of a list, a day, a decimal or null: ARRAY<BIGINT>, DATE, DECIMAL(9, 2)."
    )
    type: JsonType | list[JsonType | Literal["null"]] | None = Field(
        default=None, description='The type of the default if not given; ["null", "string"] also allows null.'
    )
    title: str | None = Field(default=None, description="The label of its field in Airflow's form.")
    description: str | None = Field(default=None, description="The text below its field.")
    description_md: str | None = Field(default=None, description="The same in Markdown.")
    section: str | None = Field(default=None, description="The heading above its field.")
    enum: list[PlainValue] | None = Field(default=None, description="The values to choose from.")
    values_display: dict[str, str] | None = Field(
        default=None, description="What the form shows for each value of enum."
    )
    examples: list[PlainValue] | None = Field(default=None, description="Values to start from.")
    format: str | None = Field(
        default=None,
        description="date, date-time, time, multiline, or path: relative to the folder that contains pipelines/.",
    )
    pattern: str | None = Field(default=None, description="A regular expression found in the text.")
    min_length: int | None = Field(default=None, alias="minLength")
    max_length: int | None = Field(default=None, alias="maxLength")
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: int | float | None = Field(default=None, alias="exclusiveMinimum")
    exclusive_maximum: int | float | None = Field(default=None, alias="exclusiveMaximum")
    multiple_of: int | float | None = Field(default=None, alias="multipleOf")
    min_items: int | None = Field(default=None, alias="minItems")
    max_items: int | None = Field(default=None, alias="maxItems")
    unique_items: bool | None = Field(default=None, alias="uniqueItems")

    @model_validator(mode="before")
    @classmethod
    def keep_digits(cls, given: Any) -> Any:
        """Return the keywords, of which the default of a decimal is what is written, and that of others unambiguous."""
        if not isinstance(given, dict) or "default" not in given:
            return given
        kind = sql_type_of(given.get("sql_type")) or ""
        if kind.removeprefix("ARRAY<").startswith("DECIMAL"):
            return {**given, "default": as_written(as_written(given)["default"])}  # type: ignore[index]  # a mapping
        is_number = "sql_type" in given or given.get("type") in ("integer", "number")
        return given if is_number else {**given, "default": _unambiguous(given)["default"]}

    def keywords(self, project: Path) -> dict[str, Any]:
        """Return the written keywords under their names in JSON Schema, with a path as an absolute one."""
        written = self.model_dump(by_alias=True, exclude_unset=True)
        if self.format == PATH:  # not a format of JSON Schema: it says how this file is read
            del written["format"]
            if isinstance(self.default, str) and "://" not in self.default:
                written["default"] = str(project / self.default)
        return written


ModelName = Annotated[str, Field(description="A pydantic model of an importable module: my_params:FlightsParams")]
_Given: Any = either(BareDefault, ParameterForm)
Parameters = Annotated[dict[str, _Given], BeforeValidator(_unambiguous)]
_MAPPING, _MODEL = f"{TAG}parameters>", f"{TAG}model>"
ParametersOrModel = Annotated[
    Annotated[Parameters, Tag(_MAPPING)] | Annotated[ModelName, Tag(_MODEL)],
    Discriminator(lambda value: _MODEL if isinstance(value, str) else _MAPPING),
]


def _reading(parse: Callable[[str], Any], allowed: str) -> PlainValidator:
    def check(value: object) -> object:
        try:
            if isinstance(value, str):
                return parse(value)
        except ValueError:
            pass
        raise refused(f"is {shown_value(value)}", allowed)

    return PlainValidator(check)


def _moment(text: str) -> date | datetime:
    return date.fromisoformat(text) if len(text) <= len("2026-01-01") else datetime.fromisoformat(text)


_WHEN = "a day or a time, as 2026-01-01 or 2026-01-01T06:00"
_TEXT = WithJsonSchema({"type": "string"})
Moment = Annotated[date | datetime, _reading(_moment, _WHEN), _TEXT]
_LONG = "a whole number and d, h, min, s or ms: 15 min"
Interval = Annotated[timedelta, _reading(parse_duration_with_unit, _LONG), _TEXT]


class ScheduleForm(Form):
    """When it runs: at times, after publications of others, or, with neither, when triggered."""

    cron: str | None = Field(
        default=None, description=f"Five fields, as in 0 6 * * 1-5, or one of {', '.join(PRESETS)}."
    )
    every: Interval | None = Field(default=None, description="An interval: 15 min.")
    assets: Names | None = Field(
        default=None, description="Places or URIs: the Dag runs when all of them have been published to."
    )
    start: Moment | None = Field(default=None, description=f"The first logical date: {_WHEN}.")
    end: Moment | None = Field(default=None, description="The last logical date.")
    timezone: str | None = Field(default=None, description="UTC if not given; Europe/Vienna.")
    catchup: bool | None = Field(default=None, description="Whether every interval since the start is run.")

    def arguments(self) -> dict[str, Any]:
        """Return the written values as arguments of Schedule."""
        return {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in self.written().items()
            if value is not None
        }


_BY_TYPE: Mapping[Any, Any] = {
    bool: bool,
    bool | None: bool,
    int: int,
    int | None: int,
    str: str,
    str | None: str,
    timedelta | None: Interval,
    datetime | None: Moment,
    Sequence[str]: Names,
    dict[str, str]: Columns,
}
_BY_NAME: Mapping[str, Any] = {
    "access_control": dict[str, Any],
    "allowed_run_types": Names,
    "email": Names,
    "max_retry_delay": Interval,
    "on_execute_callback": Names,
    "on_failure_callback": Names,
    "on_retry_callback": Names,
    "on_skipped_callback": Names,
    "on_success_callback": Names,
    "retry_delay": Interval,
    "retry_exponential_backoff": PlainValue,
    "template_searchpath": Names,
    "trigger_rule": str,
    "weight_rule": str,
}
"""What Airflow accepts as anything. Objects of Python (deadline, executor_config, …) are not among them."""
_CALLBACK = "_callback"


def _form(name: str, doc: str, arguments: type) -> type[Form]:
    kinds = {key: _BY_NAME.get(key) or _BY_TYPE.get(kind) for key, kind in sorted(get_type_hints(arguments).items())}
    found: dict[str, Any] = {key: (kind | None, Field(default=None)) for key, kind in kinds.items() if kind is not None}
    return create_model(name, __base__=Form, __doc__=doc, __module__=__name__, **found)


DagForm = _form("DagForm", "Arguments of Airflow's Dag.", DagArguments)
TaskForm = _form("TaskForm", "Arguments of Airflow's tasks.", TaskArguments)


class AirflowForm(Form):
    """Airflow's own arguments: of the Dag, of all tasks, of a slot sharing group's, of one task."""

    dag: DagForm | None = Field(default=None, description="Of the Dag.")  # type: ignore[valid-type]  # made, not written
    default_args: TaskForm | None = Field(default=None, description="Of all tasks.")  # type: ignore[valid-type]  # the same
    group_args: dict[str, TaskForm] = Field(  # type: ignore[valid-type]  # the same
        default_factory=dict, description="Of the tasks of a slot sharing group, by its name."
    )
    task_args: dict[str, TaskForm] = Field(  # type: ignore[valid-type]  # the same
        default_factory=dict, description="Of a task, by its name."
    )

    def arguments(self) -> AirflowArguments:
        """Return the written values as in Python. Raises FunctionNotImportableError for a callback."""
        return AirflowArguments(
            dag=_values(self.dag),
            default_args=_values(self.default_args),
            group_args={name: _values(form) for name, form in self.group_args.items()},
            task_args={name: _values(form) for name, form in self.task_args.items()},
        )


def _written_airflow(given: AirflowArguments) -> dict[str, Any]:
    """Return the section of a file; empty parts are left out.

    Raises ValueError for a value that only Python has.
    """
    for owners in (given.group_args, given.task_args):
        if not isinstance(owners, Mapping):
            raise ValueError(f"{owners!r} is no mapping")
    sections: dict[str, Any] = {
        "dag": _written(given.dag, DagForm),
        "default_args": _written(given.default_args, TaskForm),
        "group_args": {name: _written(one, TaskForm) for name, one in given.group_args.items()},
        "task_args": {name: _written(one, TaskForm) for name, one in given.task_args.items()},
    }
    return {name: section for name, section in sections.items() if section}


def _values(form: Form | None) -> dict[str, Any]:
    given = {} if form is None else form.written()
    return {name: _value(name, value) for name, value in given.items()}


def _value(name: str, value: Any) -> Any:
    if value is None:  # Airflow's own default
        return None
    if name.endswith(_CALLBACK):
        found = [_function(name, reference) for reference in value]
        return found[0] if len(found) == 1 else found
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


def _function(name: str, reference: str) -> Callable[..., object]:
    try:
        return find_function(reference)
    except FunctionNotImportableError as error:
        raise FunctionNotImportableError(f"{name}: {error}", hint=error.hint) from None


def _written(given: Mapping[str, Any], form: type[Form]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ValueError(f"{given!r} is no mapping")
    written = {name: _text(name, value) for name, value in given.items()}
    for name, value in written.items():
        if name not in form.model_fields or not _is_plain(value):
            raise ValueError(f"'{name}' has no form in YAML: {given[name]!r}")
    return written


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return value is None or type(value) in (bool, int, float, str)


def _text(name: str, value: Any) -> Any:
    if value is not None and name.endswith(_CALLBACK):
        many = value if isinstance(value, list | tuple) else [value]
        found = [_reference(one) for one in many]
        return found[0] if len(found) == 1 else found
    if isinstance(value, timedelta) and value % timedelta(milliseconds=1):
        raise ValueError(f"'{name}' is shorter than a millisecond: {value!r}")
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case timedelta():
            return format_duration(value)
        case date():
            return value.isoformat()
    return _listed(value)


def _listed(value: Any) -> Any:
    """Return a value whose collections are those of YAML, and whose enums are their values."""
    match value:
        case Enum():
            return value.value
        case set() | frozenset():
            return sorted(map(_listed, value))
        case list() | tuple():
            return [_listed(one) for one in value]
        case dict():
            return {key: _listed(one) for key, one in value.items()}
    return value


def _reference(function: Any) -> str:
    """Return `module:function`; raises ValueError for what cannot be imported by a name."""
    if (reference := name_of(function)) is None:
        raise ValueError(f"{function!r} cannot be imported by a name")
    return reference


def written_run(pipeline: Pipeline, project: Path | None) -> dict[str, Any]:
    """Return the sections of a file; unset ones are empty or None. Defaults below `project` become relative to it.

    Raises InvalidPipelineError for an argument of Airflow that only Python has.
    """
    model = pipeline.params_model
    return {
        "description": pipeline.description,
        "tags": list(pipeline.tags),
        "schedule": None if pipeline.schedule is None else _schedule(pipeline.schedule),
        "airflow": _airflow(pipeline),
        "params": {one.name: _parameter(one, project) for one in pipeline.parameters}
        if model is None
        else f"{model.__module__}:{model.__qualname__}",
    }


def _airflow(pipeline: Pipeline) -> dict[str, Any]:
    try:
        return _written_airflow(pipeline.airflow)
    except ValueError as error:
        problem = Problem(message=f"airflow: {error}", hint="keep it in a Dag file: build_dag(…)")
        raise pipeline.placed(InvalidPipelineError(pipeline.name, [problem])) from None


def _schedule(schedule: Schedule) -> dict[str, Any]:
    """Return the settings that differ from the defaults."""
    values = {field.name: (getattr(schedule, field.name), field.default) for field in fields(schedule)}
    return {name: _plain(value) for name, (value, default) in values.items() if value != default}


def _parameter(parameter: Parameter, project: Path | None) -> object:
    default, keywords = parameter.default, parameter.keywords
    if isinstance(default, TypedValue):
        own = json_schema_of(default.kind)
        may_be_null = default.value is not None and isinstance(keywords["type"], list)
        kept = {word: said for word, said in keywords.items() if word not in own or (word == "type" and may_be_null)}
        return {"default": default.json, **kept}
    if keywords["type"] == JSON_TYPES[type(default)]:
        del keywords["type"]
    if project is not None and "format" not in keywords and (path := _relative(project, default)):
        default, keywords = path, {**keywords, "format": PATH}
    return {"default": default, **keywords} if keywords else default


def _relative(project: Path, value: object) -> str | None:
    """Return an absolute path below the project relative to it, None for any other value."""
    if not isinstance(value, str) or not value.startswith(f"{project}/"):
        return None
    relative = value.removeprefix(f"{project}/")
    return relative if str(project / relative) == value else None
