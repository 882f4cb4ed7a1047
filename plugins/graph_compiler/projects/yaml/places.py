"""YAML forms of connectors, operators of other packages, windows and resources, and their conversion to values.

A connector of our own has its class name as the key, one of another package the name of its entry point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import PlainValidator, WithJsonSchema

from graph_compiler.declaration.connectors import Connector, OnMisfit, Secret
from graph_compiler.declaration.operators import Operator
from graph_compiler.declaration.parameters.parameter import ParameterReference
from graph_compiler.declaration.resources.resource_spec import ResourceSpec
from graph_compiler.declaration.resources.slot_sharing_group import SlotSharingGroup
from graph_compiler.declaration.windows import Window
from graph_compiler.extensions import Extensible, load_kind, registered
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
from graph_compiler.projects.yaml.values import BoundParameter, Form, SecretForm, either, refused, shown_value

# Connectors and operators of other packages in YAML: the entry point's name is the key, the signature the form.
#
# A package that cannot be imported, or whose class has no form, only affects files that use its key; the reason is
# reported there.

_KEY = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageForms:
    """The kinds and the keys of their forms, each by its key in YAML; `refused` has the reasons of the others."""

    kinds: Mapping[str, type]
    keys: Mapping[str, Mapping[str, Key]]
    refused: Mapping[str, str]


def package_forms(base: type[Extensible], taken: Collection[str] = ()) -> PackageForms:
    """Return the forms that installed packages add to a base class; keys that are already `taken` are skipped."""
    kinds: dict[str, type] = {}
    keys: dict[str, Mapping[str, Key]] = {}
    refused: dict[str, str] = {}
    for entry in registered(base):
        key = entry.name
        if _KEY.fullmatch(key) is None:
            refused[key] = "the name of its entry point is not lowercase letters, digits and '_'"
        elif key in taken or key in kinds:
            refused[key] = f"'{entry.value}' is registered for a key that is taken"
        else:
            try:
                kind = load_kind(entry, base)
                keys[key] = call_keys(key, kind)
                kinds[key] = kind
            except Exception as error:  # another package may raise any exception
                refused[key] = str(error)
    return PackageForms(kinds=kinds, keys=keys, refused=refused)


def snake(name: str) -> str:
    """Return the key of a class name: `FunctionSource` → `function_source`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def window_key(kind: type) -> str:
    """Return the key of a window's name: `TumblingEventTimeWindows` → `tumbling`."""
    return snake(kind.__name__.replace("EventTime", "").removesuffix("Windows"))


def _no_operators(value: object) -> object:
    raise refused(f"is {shown_value(value)}", "operators of packages that register some; none is installed")


_OWN: Mapping[str, type] = {snake(kind.__name__): kind for kind in leaves(Connector)}
_CONNECTORS_OF_PACKAGES = package_forms(Connector, taken=_OWN)
_OPERATORS_OF_PACKAGES = package_forms(Operator)
CONNECTORS: Mapping[str, type] = {**_OWN, **_CONNECTORS_OF_PACKAGES.kinds}
OPERATORS: Mapping[str, type] = _OPERATORS_OF_PACKAGES.kinds
"""The operators that `apply` takes: those of other packages."""
REFUSED: Mapping[str, str] = {**_CONNECTORS_OF_PACKAGES.refused, **_OPERATORS_OF_PACKAGES.refused}
"""The reasons why kinds of other packages have no form, by the key they would have."""
WINDOWS: Mapping[str, type] = {window_key(kind): kind for kind in leaves(Window)}
CONNECTOR_KEYS: Mapping[str, Mapping[str, Key]] = {
    **{key: call_keys(key, kind) for key, kind in _OWN.items()},
    **_CONNECTORS_OF_PACKAGES.keys,
}
_CONNECTOR_FORMS = {
    key: make_form(CONNECTORS[key].__name__, keys, CONNECTORS[key].__doc__) for key, keys in CONNECTOR_KEYS.items()
}
_OPERATOR_FORMS = {
    key: make_form(f"{key}_operator", keys, OPERATORS[key].__doc__) for key, keys in _OPERATORS_OF_PACKAGES.keys.items()
}
_WINDOW_FORMS = {key: make_form(kind.__name__, call_keys(key, kind), kind.__doc__) for key, kind in WINDOWS.items()}


def _mapping(kind: type) -> type[Form]:
    keys = {parameter.name: key_of(parameter) for parameter in parameters(kind).values()}
    return make_form(kind.__name__, keys, kind.__doc__)


_GROUP = _mapping(SlotSharingGroup)
_SPEC = _mapping(ResourceSpec)
FORMS.update({f"<{form.__name__}>": form for form in (_GROUP, SecretForm, BoundParameter)})
TYPES.update(
    {
        Connector: union_of(_CONNECTOR_FORMS, "connector"),
        Operator: union_of(_OPERATOR_FORMS, "operator")
        if _OPERATOR_FORMS
        else Annotated[Any, PlainValidator(_no_operators), WithJsonSchema({"type": "object"})],
        Window: union_of(_WINDOW_FORMS, "window"),
        ResourceSpec: _SPEC,
        str | SlotSharingGroup: either(str, _GROUP),
    }
)


def _secret(secret: str, field: str = "password") -> Secret:
    return Secret(secret, field)


def _parameter(param: str) -> ParameterReference:
    return ParameterReference(param)


_MISFIT = "on_misfit"
"""The argument one of whose values is the text null."""
_VALUES: Mapping[type[Form], Callable[..., object]] = {
    SecretForm: _secret,
    BoundParameter: _parameter,
    _GROUP: SlotSharingGroup,
    _SPEC: ResourceSpec,
}
"""What forms that are not calls are converted to."""


def value_of(found: Any, function: Callable[[str], object]) -> Any:
    """Return the Python value of a written value; `function` resolves a function's name."""
    for form, kind in _VALUES.items():
        if isinstance(found, form):
            return kind(**written_values(found))
    if isinstance(found, Form):
        written = written_values(found)
        key, kind = next(named for form, named in _KINDS.items() if isinstance(found, form))
        return make_value(kind, key, written, function)
    if isinstance(found, dict):
        return {key: value_of(value, function) for key, value in found.items()}
    return found


def make_value(kind: type, key: str, written: Mapping[str, Any], function: Callable[[str], object]) -> Any:
    """Call a class with written values; keys of others are left out."""
    names = parameters(kind)
    main = next(iter(names), None)  # a kind without arguments is written `key: true`
    arguments = {name: written[name] for name in names if name in written and name != main}
    if main is not None:
        arguments[main] = written[key]
    if "function" in names:
        arguments["function"] = function(str(arguments["function"]))
    values = {name: value_of(value, function) for name, value in arguments.items()}
    if _MISFIT in values and values[_MISFIT] is None:  # YAML's null, without quotes
        values[_MISFIT] = OnMisfit.NULL.value
    frozen = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return kind(**frozen)


def key_of_kind(kind: type) -> str:
    """Return the key of a connector, a window or a package's operator."""
    return next(key for key, known in _KINDS.values() if known is kind)


_KINDS = {
    form: (key, kinds[key])
    for forms, kinds in ((_CONNECTOR_FORMS, CONNECTORS), (_OPERATOR_FORMS, OPERATORS), (_WINDOW_FORMS, WINDOWS))
    for key, form in forms.items()
}
