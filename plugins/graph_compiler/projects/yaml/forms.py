"""Models made from signatures, so that every call has a YAML form.

    Csv(path, *, header=True, null_value="")     →   {csv: path, header: true, null_value: NA}
    stream.filter(condition, *, rejects=None)    →   {filter: condition, rejects: tag}

The first parameter is the value of the key with the call's name; the others are further keys.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache, reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import Discriminator, Field, Tag, create_model

from graph_compiler.declaration.connectors import Options, Secret
from graph_compiler.declaration.connectors.memory import Cell
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import OperatorAttributes
from graph_compiler.declaration.parameters.parameter import Argument
from graph_compiler.declaration.streams import DataStream
from graph_compiler.projects.yaml import values
from graph_compiler.projects.yaml.values import TAG, Form

_Functions = Callable[..., object]
FORMS: dict[str, type[Form]] = {}
"""All forms of a union, by tag."""
TYPES: dict[Any, Any] = {
    **{kind: kind for kind in (str, int, float, bool)},
    _Functions: values.FunctionName,
    _Functions | FunctionRef: values.FunctionName,
    str | _Functions: str,
    str | Sequence[str]: values.Names,
    str | Sequence[str] | Mapping[str, str]: values.Keys,
    tuple[str, ...]: values.Names,
    tuple[str, str]: values.Pair,
    Mapping[str, str]: values.Columns,
    Mapping[str, float]: dict[str, float],
    Mapping[str, str | int | float | bool]: dict[str, values.PlainValue],
    str | Secret: values.SecretText,
    Options: values.Options,
    Iterable[Sequence[Cell]]: values.Cells,
    str | int: str | int,
}
"""The YAML types for types of parameters; other modules add to it. A missing one fails when it is needed."""


@cache
def parameters(call: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a call without self, with resolved types.

    Keyword arguments with arbitrary names are left out, except those of a function.
    """
    target = call.__init__ if isinstance(call, type) else call  # type: ignore[misc]  # only read
    # The fields of a dataclass may come from several modules, each with its own names.
    typed = call if _has_fields(call) else target
    hints = get_type_hints(typed, localns={"DataStream": DataStream})
    return {
        name: parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(target).parameters.items()
        if name != "self"
        and (parameter.kind is not parameter.VAR_KEYWORD or hints[name] == Argument)
        and hints[name] is not OperatorAttributes  # only for the compiler
    }


def _has_fields(call: Callable[..., object]) -> bool:
    return is_dataclass(call) and bool(call.__dataclass_params__.init)  # type: ignore[attr-defined]  # not typed


def yaml_type(parameter: inspect.Parameter) -> Any:
    """Return the type of the key for a parameter; raises LookupError for a type without a YAML form."""
    if parameter.kind is parameter.VAR_KEYWORD:
        return values.Arguments
    if parameter.kind is parameter.VAR_POSITIONAL:
        return TYPES[GenericAlias(tuple, (parameter.annotation, ...))]
    return _type(parameter.annotation)


def _type(annotation: Any) -> Any:
    if get_origin(annotation) is Literal:
        return annotation
    if annotation in TYPES:
        return TYPES[annotation]
    kinds = get_args(annotation)
    if get_origin(annotation) in (Union, UnionType) and NoneType in kinds:
        return _type(reduce(or_, (kind for kind in kinds if kind is not NoneType))) | None
    raise LookupError(f"{annotation} has no YAML form: give it one in TYPES")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a form that is being built."""

    type: Any
    is_required: bool = False
    doc: str | None = None


def key_of(parameter: inspect.Parameter) -> Key:
    """Return the key of a parameter; it is required if the parameter has no default."""
    optional = parameter.default is not parameter.empty or parameter.kind in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )
    return Key(yaml_type(parameter), is_required=not optional)


def make_form(name: str, keys: Mapping[str, Key], doc: str | None) -> type[Form]:
    """Return a model with these keys. Its own names end with `_`, since pydantic reserves some (`json`)."""
    fields: dict[str, Any] = {
        f"{name}_": (key.type, Field(default=... if key.is_required else None, alias=name, description=key.doc))
        for name, key in keys.items()
    }
    return create_model(name, __base__=Form, __doc__=doc, **fields)


def written_values(form: Form) -> dict[str, Any]:
    """Return the written values, by key."""
    return {name.removesuffix("_"): value for name, value in form.given().items()}


def call_keys(key: str, call: Callable[..., object], main: Any = None) -> dict[str, Key]:
    """Return the keys of a call: the first parameter's is `key`. `main` is its type, if that is special."""
    doc = first_paragraph(call)
    given = parameters(call)
    if not given:
        return {key: Key(values.Yes, is_required=True, doc=doc)}
    first, *others = given.values()
    return {
        key: Key(main or yaml_type(first), is_required=True, doc=doc),
        **{parameter.name: key_of(parameter) for parameter in others},
    }


def first_paragraph(of: object) -> str:
    """Return the first paragraph of a docstring, as one line."""
    return " ".join((inspect.getdoc(of) or "").partition("\n\n")[0].split())


def union_of(forms: Mapping[str, type[Form]], group: str, plain: Any = None) -> Any:
    """Return a union whose kinds are recognized by their keys; `plain` is the type allowed in place of a mapping."""
    fields = {key: {str(f.alias) for f in form.model_fields.values()} for key, form in forms.items()}
    tags = {key: f"{TAG}{group} {key}>" for key in forms}
    FORMS.update({tags[key]: form for key, form in forms.items()})

    def kind(value: object) -> str | None:
        if not isinstance(value, dict):
            return f"{TAG}plain>" if plain is not None else None
        there = [key for key in value if key in forms]
        # A key may be the name of one kind and a field of another: {jdbc: …, table: …}.
        best = [key for key in there if all(other in fields[key] for other in there)]
        return tags[best[0]] if len(best) == 1 else None

    choices = [Annotated[form, Tag(tags[key])] for key, form in forms.items()]
    if plain is not None:
        choices.append(Annotated[plain, Tag(f"{TAG}plain>")])
    return Annotated[Union[tuple(choices)], Discriminator(kind)]  # noqa: UP007


def leaves(base: type) -> list[type]:
    """Return the package's own subclasses of a base class, by name; those of other packages do not count.

    With slots=True, each class leaves a duplicate, which is in no module.
    """
    pending: list[type] = _own_below(base)
    found: dict[str, type] = {}
    while pending:
        kind = pending.pop()
        if below := _own_below(kind):
            pending.extend(below)
        else:
            found[kind.__name__] = kind
    return [found[name] for name in sorted(found)]


def _own_below(base: type) -> list[type]:
    kinds: list[type] = base.__subclasses__()
    return [
        kind
        for kind in kinds
        if kind.__module__.startswith("graph_compiler.")
        and getattr(sys.modules[kind.__module__], kind.__name__, None) is kind
    ]
