"""How a pipeline is run, as models: its parameters and its schedule."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PlainValidator, Tag, WithJsonSchema

from graph_compiler.declaration.dag.schedule import PRESETS
from graph_compiler.options.durations import parse_duration
from graph_compiler.projects.yaml.values import (
    TAG,
    Form,
    Names,
    PlainValue,
    either,
    refused,
    shown_value,
)

PATH = "path"
"""Our own format for a default that is a path: a relative one starts at the project's folder."""


class ParameterForm(Form):
    """A parameter with its keywords: JSON Schema's for one value, and Airflow's for its form."""

    default: PlainValue
    type: Literal["string", "integer", "number", "boolean"] | None = Field(
        default=None, description="The type of the default if not given."
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

    def keywords(self, project: Path) -> dict[str, Any]:
        """Return the written keywords under their names in JSON Schema, with a path as an absolute one."""
        written = self.model_dump(by_alias=True, exclude_unset=True)
        if self.format == PATH:  # not a format of JSON Schema: it says how this file is read
            del written["format"]
            if isinstance(self.default, str) and "://" not in self.default:
                written["default"] = str(project / self.default)
        return written


ModelName = Annotated[
    str, Field(description="A pydantic model of an importable module: my_params:FlightsParams")
]
Parameters = dict[str, either(PlainValue, ParameterForm)]  # type: ignore[misc, valid-type]  # made, not written
_MAPPING, _MODEL = f"{TAG}parameters>", f"{TAG}model>"
ParametersOrModel = Annotated[
    Annotated[Parameters, Tag(_MAPPING)] | Annotated[ModelName, Tag(_MODEL)],  # type: ignore[valid-type]  # the same
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
    return (
        date.fromisoformat(text) if len(text) <= len("2026-01-01") else datetime.fromisoformat(text)
    )


_WHEN = "a day or a time, as 2026-01-01 or 2026-01-01T06:00"
_TEXT = WithJsonSchema({"type": "string"})
Moment = Annotated[date | datetime, _reading(_moment, _WHEN), _TEXT]
Interval = Annotated[
    timedelta, _reading(parse_duration, "a whole number and d, h, min, s or ms: 15 min"), _TEXT
]


class ScheduleForm(Form):
    """When it runs: at times, after publications of others, or, with neither, when triggered."""

    cron: str | None = Field(
        default=None, description=f"Five fields, as in 0 6 * * 1-5, or one of {', '.join(PRESETS)}."
    )
    every: Interval | None = Field(default=None, description="An interval: 15 min.")
    assets: Names | None = Field(
        default=None, description="Places or URIs: when all of them have been published to."
    )
    start: Moment | None = Field(default=None, description=f"The first logical date: {_WHEN}.")
    end: Moment | None = Field(default=None, description="The last logical date.")
    timezone: str | None = Field(default=None, description="UTC if not given; Europe/Vienna.")
    catchup: bool | None = Field(
        default=None, description="Whether every interval since the start is run."
    )

    def arguments(self) -> dict[str, Any]:
        """Return the written values as arguments of Schedule."""
        return {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in self.given().items()
            if value is not None
        }
