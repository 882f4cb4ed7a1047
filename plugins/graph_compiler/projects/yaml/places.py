"""Where rows come from and go to, in windows or not: connectors, windows and resources as YAML, and back to values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from graph_compiler.declaration.connectors import Connector, Secret
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.windows import Window
from graph_compiler.projects.yaml.forms import (
    FORMS,
    TYPES,
    Key,
    call_keys,
    key_of,
    leaves,
    make_form,
    parameters,
    union_of,
    written_values,
)
from graph_compiler.projects.yaml.values import Form, SecretForm, either


def snake(name: str) -> str:
    """Write a class' name as a key: `FunctionSource` → `function_source`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def window_key(kind: type) -> str:
    """Write a window's name as a key: `TumblingEventTimeWindows` → `tumbling`."""
    return snake(kind.__name__.replace("EventTime", "").removesuffix("Windows"))


CONNECTORS: Mapping[str, type] = {snake(kind.__name__): kind for kind in leaves(Connector)}
WINDOWS: Mapping[str, type] = {window_key(kind): kind for kind in leaves(Window)}
CONNECTOR_KEYS: Mapping[str, Mapping[str, Key]] = {
    key: call_keys(key, kind) for key, kind in CONNECTORS.items()
}
_CONNECTOR_FORMS = {
    key: make_form(CONNECTORS[key].__name__, keys, CONNECTORS[key].__doc__)
    for key, keys in CONNECTOR_KEYS.items()
}
_WINDOW_FORMS = {
    key: make_form(kind.__name__, call_keys(key, kind), kind.__doc__)
    for key, kind in WINDOWS.items()
}


def _mapping(kind: type) -> type[Form]:
    keys = {parameter.name: key_of(parameter) for parameter in parameters(kind).values()}
    return make_form(kind.__name__, keys, kind.__doc__)


_GROUP = _mapping(SlotSharingGroup)
_SPEC = _mapping(ResourceSpec)
FORMS.update({f"<{form.__name__}>": form for form in (_GROUP, SecretForm)})
TYPES.update(
    {
        Connector: union_of(_CONNECTOR_FORMS, "connector"),
        Window: union_of(_WINDOW_FORMS, "window"),
        ResourceSpec: _SPEC,
        str | SlotSharingGroup: either(str, _GROUP),
    }
)


def value_of(found: Any, function: Callable[[str], object]) -> Any:
    """Give the Python value of what was written; `function` finds a function by its name."""
    if isinstance(found, SecretForm):
        return Secret(found.secret, found.field)
    if isinstance(found, _GROUP):
        return SlotSharingGroup(**written_values(found))
    if isinstance(found, _SPEC):
        return ResourceSpec(**written_values(found))
    if isinstance(found, Form):
        written = written_values(found)
        kinds = {**CONNECTORS, **WINDOWS}
        key = next(tag for tag, form in _KINDS.items() if isinstance(found, form))
        return make_value(kinds[key], key, written, function)
    if isinstance(found, dict):
        return {key: value_of(value, function) for key, value in found.items()}
    return found


def make_value(
    kind: type, key: str, written: Mapping[str, Any], function: Callable[[str], object]
) -> Any:
    """Call a class with what was written; keys that are not its own are left out."""
    names = parameters(kind)
    main = next(iter(names))
    arguments = {
        main: written[key],
        **{name: written[name] for name in names if name in written and name != main},
    }
    if "function" in names:
        arguments["function"] = function(str(arguments["function"]))
    return kind(**{name: value_of(value, function) for name, value in arguments.items()})


_KINDS = {**_CONNECTOR_FORMS, **_WINDOW_FORMS}
