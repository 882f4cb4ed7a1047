"""The JSON Schema of a pipeline's file, for completion and checks in editors."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from graph_compiler.identifiers import distinct
from graph_compiler.options.model import PipelineOptions
from graph_compiler.projects.yaml.pipeline_spec import PipelineSpec

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
