"""A whole file as a model."""

from __future__ import annotations

import json
from collections import Counter
from typing import Annotated, Any

from pydantic import Field

from graph_compiler.identifiers import distinct
from graph_compiler.options.model import PipelineOptions
from graph_compiler.projects.yaml.forms import Form, Names, Texts
from graph_compiler.projects.yaml.run_forms import AirflowForm, ParametersOrModel, ScheduleForm
from graph_compiler.projects.yaml.vocabulary import Sink, Source, Step


class PipelineSpec(Form):
    """A pipeline: sources, then steps in the order in which they would be called, then sinks."""

    name: Annotated[str, Field(description="The pipeline's name, and the Airflow Dag's id.")]
    description: Annotated[str | None, Field(default=None, description="A line about it, for Airflow's list of Dags.")]
    tags: Annotated[Names | None, Field(default=None, description="Tags by which Airflow's list is filtered.")]
    schedule: Annotated[ScheduleForm | None, Field(default=None, description="When it runs.")]
    airflow: Annotated[AirflowForm | None, Field(default=None, description="Airflow's own arguments, by name.")]
    params: Annotated[
        ParametersOrModel,
        Field(
            default_factory=dict,
            description="The run's parameters with their defaults: {{ params.x }} in paths, :x in expressions.",
        ),
    ]
    config: Annotated[Texts, Field(default_factory=dict, description="Options under Flink's keys.")]
    sources: Annotated[
        dict[str, Source],
        Field(default_factory=dict, description="Streams by name, and the connectors they are read from."),
    ]
    steps: Annotated[
        list[Step],
        Field(
            default_factory=list, description="Operators. Each reads the step before it, unless `from` says otherwise."
        ),
    ]
    sinks: Annotated[
        dict[str, Sink],  # type: ignore[valid-type]  # the same
        Field(default_factory=dict, description="Sinks by name: what they read, and where it goes."),
    ]


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SHORT = 60


def schema_json() -> str:
    """Return the schema as text: the models', with the options by name."""
    schema = PipelineSpec.model_json_schema(by_alias=True)
    options = PipelineOptions.model_json_schema(by_alias=True)
    schema["$defs"] |= options.pop("$defs")
    schema["properties"]["config"] |= {
        "properties": {key: _plain(option) for key, option in options["properties"].items()},
        "patternProperties": {r"^spark\.": {"type": ["string", "number", "boolean"]}},
        "additionalProperties": False,
    }
    return json.dumps({"$schema": _DIALECT, **_shared(_tidied(schema))}, indent=1) + "\n"


def _shared(schema: dict[str, Any]) -> dict[str, Any]:
    """Share the keys that many steps have: a key with one meaning becomes a definition with the key's name."""
    found = Counter(
        (key, json.dumps(value))
        for form in schema["$defs"].values()
        for key, value in form.get("properties", {}).items()
    )
    often = [pair for pair, count in found.items() if count > 1 and len(pair[1]) > _SHORT]
    names = dict(zip(often, distinct([f"key_{key}" for key, _ in often]), strict=True))
    for form in schema["$defs"].values():
        for key, value in form.get("properties", {}).items():
            if name := names.get((key, json.dumps(value))):
                form["properties"][key] = {"$ref": f"#/$defs/{name}"}
    schema["$defs"] |= {name: json.loads(text) for (_, text), name in names.items()}
    return schema


def _plain(option: dict[str, Any]) -> dict[str, Any]:
    """Also accept durations as text: `10 s`."""
    if option.get("format") != "duration":
        return option
    return {"type": ["string", "integer"], "description": option.get("description")}


def _tidied(schema: Any) -> Any:
    """Leave out titles, which repeat the key, and defaults that only mean that a key is optional."""
    if isinstance(schema, list):
        return [_tidied(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _tidied(value) for name, value in item.items()}
        if key in ("properties", "$defs") and isinstance(item, dict)
        else _tidied(item)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str)) and (key, item) != ("default", None)
    }
