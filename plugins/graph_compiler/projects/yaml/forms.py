"""Forms: pydantic models of the keys of a mapping, most of them made from the signatures of the Python API.

    Csv(path, *, header=True, null_value="")     →   {csv: path, header: true, null_value: NA}
    stream.filter(condition, *, rejects=None)    →   {filter: condition, rejects: tag}

The first parameter is the value of the key with the call's name; the others are further keys. A list of names may be
written as one name; a function is `module:name`; a stream is the name of a step.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache, reduce
from operator import or_
from types import GenericAlias, NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
    create_model,
)
from pydantic_core import PydanticCustomError

from graph_compiler.declaration.connectors import OnMisfit, Secret
from graph_compiler.declaration.connectors import Options as SparkOptions
from graph_compiler.declaration.connectors.files import Paths
from graph_compiler.declaration.connectors.memory import GivenCell
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import OperatorAttributes
from graph_compiler.declaration.parameters.parameter import Argument, ParameterReference
from graph_compiler.declaration.streams import DataStream
from graph_compiler.identifiers import listing
from graph_compiler.projects.yaml.tree import as_written, with_all_digits

_LONGEST = 60
TAG = "<"
"""The prefix of a union's tag: it is not a key of the file, and is removed from an error's path."""


Functions = Callable[[str], object]
"""How the name of a function is resolved."""


class Form(BaseModel):
    """The base class of forms: no unknown keys, no conversions."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)
    call: ClassVar[Call]
    """What a form that is made from a signature stands for."""

    def written(self) -> dict[str, Any]:
        """Return the written values, by key."""
        keys = type(self).model_fields
        return {keys[name].alias or name: getattr(self, name) for name in sorted(self.model_fields_set)}

    def value(self, function: Functions) -> object:
        """Return the Python value that is written."""
        return self.call.make(self.written(), function)


def value_of(found: Any, function: Functions) -> Any:
    """Return the Python value of a form, of a mapping that may have forms, or of anything else."""
    if isinstance(found, Form):
        return found.value(function)
    if isinstance(found, dict):
        return {key: value_of(value, function) for key, value in found.items()}
    return found


def shown_value(value: object) -> str:
    """Return a value as text for a message, shortened if it is long."""
    plain = {None: "empty", True: "true", False: "false"}
    text = plain[value] if value is None or isinstance(value, bool) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def refused(message: str, allowed: str) -> PydanticCustomError:
    """Return the error of a value with our message."""
    return PydanticCustomError("refused", "{message}", {"message": message, "allowed": allowed})


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_columns(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not _is_texts(value):
        raise refused(f"is {shown_value(value)}", "text, or a list of texts")
    return list(value)  # type: ignore[call-overload, no-any-return]  # just checked


def _pair(value: object) -> list[str]:
    if not _is_texts(value) or len(value) != 2:  # type: ignore[arg-type]  # just checked
        raise refused(f"is {shown_value(value)}", "a list of two texts")
    return list(value)  # type: ignore[call-overload, no-any-return]  # the same


def _columns(value: object) -> dict[str, str]:
    if not _is_columns(value):
        raise refused(f"is {shown_value(value)}", "a mapping of names to texts; numbers and booleans in quotes")
    return dict(value)  # type: ignore[call-overload, no-any-return]  # just checked


def _paths(value: object) -> str | list[str]:
    if not isinstance(value, str) and not _is_texts(value):
        raise refused(f"is {shown_value(value)}", "a path, or a list of paths")
    return value  # type: ignore[return-value]  # just checked


def _keys(value: object) -> list[str] | dict[str, str]:
    if isinstance(value, dict):
        return _columns(value)
    return _names(value)


def _selection(value: object) -> list[str | dict[str, str]]:
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) or _is_columns(item) for item in items):
        raise refused(f"is {shown_value(value)}", "names of columns, and mappings of names to expressions")
    counted = Counter(name for item in items for name in (item if isinstance(item, dict) else [str(item)]))
    if twice := [name for name, count in counted.items() if count > 1]:
        raise refused(f"it names {listing(twice)} more than once", "each name once")
    return items  # type: ignore[return-value]  # just checked


def _sets(value: object) -> list[list[str]]:
    if not isinstance(value, list):
        raise refused(f"is {shown_value(value)}", "a list of lists of columns")
    return [_names(item) for item in value]


def _own(check: Callable[[Any], object], schema: dict[str, Any]) -> Any:
    return Annotated[Any, PlainValidator(check), WithJsonSchema(schema)]


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_MAPPING = {"type": "object", "additionalProperties": _TEXT}
Names = _own(_names, {"anyOf": [_TEXT, _TEXTS]})
PathNames = _own(_paths, {"anyOf": [_TEXT, _TEXTS]})
Pair = _own(_pair, {**_TEXTS, "minItems": 2, "maxItems": 2})
Columns = _own(_columns, _MAPPING)
Keys = _own(_keys, {"anyOf": [_TEXT, _TEXTS, _MAPPING]})
Selection = _own(_selection, {"anyOf": [_TEXT, _MAPPING, {"type": "array", "items": {"anyOf": [_TEXT, _MAPPING]}}]})
Sets = _own(_sets, {"type": "array", "items": {"anyOf": [_TEXT, _TEXTS]}})
Yes = Literal[True]
"""The value of a call without arguments: `rebalance: true`."""
FunctionName = Annotated[str, Field(description="A function of an importable module: pipelines.flights:clean")]
PlainValue = bool | int | float | str
AsWritten = BeforeValidator(as_written)
"""Of values that are text in the end: an unquoted 1.10 is `1.10` there, not 1.1."""
Texts = Annotated[dict[str, PlainValue], AsWritten]
_AllDigits = BeforeValidator(with_all_digits)
Items = Annotated[list[bool | int | float | str | None], _AllDigits]
Cells = list[Annotated[list[bool | int | float | str | Items | None], _AllDigits]]


class SqlFile(Form):
    """A query in a separate file, beside the pipeline's."""

    file: str = Field(description="Path from the folder of this YAML file.")


class SecretForm(Form):
    """A field of an Airflow connection."""

    secret: str = Field(description="Connection id.")
    field: str = Field(default="password", description="password, login, host, port, schema, or a key of its extra.")

    def value(self, function: Functions) -> Secret:  # noqa: ARG002  # the base's signature
        """Return the reference that a descriptor has in place of the secret."""
        return Secret(self.secret, self.field)


class BoundParameter(Form):
    """A parameter of the pipeline in place of a value."""

    param: str = Field(description="The name of one of the params, or run_date.")

    def value(self, function: Functions) -> ParameterReference:  # noqa: ARG002  # the base's signature
        """Return the reference that is resolved in each run."""
        return ParameterReference(self.param)


def either(plain: Any, form: type[Form]) -> Any:
    """Return the union of a plain value and a mapping of this form."""
    tag = f"{TAG}{form.__name__}>"
    choice = Discriminator(lambda value: tag if isinstance(value, dict | Form) else f"{TAG}plain>")
    return Annotated[Annotated[plain, Tag(f"{TAG}plain>")] | Annotated[form, Tag(tag)], choice]


SqlText = either(str, SqlFile)
SecretText = either(str, SecretForm)
_Option: Any = either(PlainValue, SecretForm)
Options = Annotated[dict[str, _Option], AsWritten]
Arguments = dict[str, either(PlainValue, BoundParameter)]  # type: ignore[misc, valid-type]  # the same
"""The keyword arguments of a function."""


_Function = Callable[..., object]
PLAIN_TYPES: Mapping[Any, Any] = {
    **{kind: kind for kind in (str, int, float, bool)},
    _Function: FunctionName,
    _Function | FunctionRef: FunctionName,
    str | _Function: str,
    str | Sequence[str]: Names,
    str | Sequence[str] | Mapping[str, str]: Keys,
    tuple[str, ...]: Names,
    str | tuple[str, ...]: Names,
    Paths: PathNames,
    tuple[str, str]: Pair,
    Mapping[str, str]: Columns,
    Mapping[str, float]: dict[str, float],
    Mapping[str, str | int | float | bool]: Texts,
    Mapping[str, str | int | float | bool | None]: Annotated[dict[str, PlainValue | None], AsWritten],
    str | Secret: SecretText,
    SparkOptions: Options,
    Iterable[Sequence[GivenCell]]: Cells,
    str | int: str | int,
    bool | str: bool | str,
    **{kind | ParameterReference: either(kind, BoundParameter) for kind in (str, int, float)},
}
"""The YAML types for types of parameters, without those of connectors, operators and streams."""


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


def _yaml_type(parameter: inspect.Parameter, types: Mapping[Any, Any]) -> Any:
    """Return the type of the key for a parameter; raises LookupError for a type without a YAML form."""
    if parameter.kind is parameter.VAR_KEYWORD:
        return Arguments
    if parameter.kind is parameter.VAR_POSITIONAL:
        return types[GenericAlias(tuple, (parameter.annotation, ...))]
    return _type(parameter.annotation, types)


def _type(annotation: Any, types: Mapping[Any, Any]) -> Any:
    if get_origin(annotation) is Literal:
        return annotation
    if annotation in types:
        return types[annotation]
    kinds = get_args(annotation)
    if get_origin(annotation) in (Union, UnionType) and NoneType in kinds:
        return _type(reduce(or_, (kind for kind in kinds if kind is not NoneType)), types) | None
    raise LookupError(f"{annotation} has no YAML form: give it one in PLAIN_TYPES")


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a form: its type in pydantic, and its description in the schema."""

    type: Any
    is_required: bool = False
    doc: str | None = None


_MISFIT = "on_misfit"
"""The argument one of whose values is the text null."""


@dataclass(frozen=True, slots=True)
class Call:
    """A method or a class, under the key it has in a file: what is read, written and described is derived from it.

    Without a key, it is a class that is written as a mapping of its arguments.
    """

    key: str | None
    of: Callable[..., object]
    keys: Mapping[str, Key]

    def make(self, written: Mapping[str, Any], function: Functions) -> object:
        """Call a class with written values; keys of others are left out."""
        names = parameters(self.of)
        main = None if self.key is None else next(iter(names), None)  # without arguments: `key: true`
        arguments = {name: written[name] for name in names if name in written and name != main}
        if main is not None:
            arguments[main] = written[str(self.key)]
        if "function" in names:
            arguments["function"] = function(str(arguments["function"]))
        values = {name: value_of(value, function) for name, value in arguments.items()}
        if _MISFIT in values and values[_MISFIT] is None:  # YAML's null, without quotes
            values[_MISFIT] = OnMisfit.NULL.value
        return self.of(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})


def make_call(
    key: str | None, of: Callable[..., object], types: Mapping[Any, Any] = PLAIN_TYPES, main: Any = None
) -> Call:
    """Return a call with the keys of its parameters. `main` is the first one's type, if that is special."""
    given = list(parameters(of).values())
    keys: dict[str, Key] = {}
    if key is not None:
        kind = main or (_yaml_type(given[0], types) if given else Yes)
        keys[key] = Key(kind, is_required=True, doc=first_paragraph(of))
    for one in given if key is None else given[1:]:
        optional = one.default is not one.empty or one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        keys[one.name] = Key(_yaml_type(one, types), is_required=not optional)
    return Call(key, of, keys)


def make_form(name: str, call: Call, keys: Mapping[str, Key] | None = None) -> type[Form]:
    """Return the model of a call, by default with its own keys.

    The model's own names end with `_`, since pydantic reserves some (`json`).
    """
    fields: dict[str, Any] = {
        f"{name}_": (key.type, Field(default=... if key.is_required else None, alias=name, description=key.doc))
        for name, key in (call.keys if keys is None else keys).items()
    }
    doc = call.of.__doc__ if isinstance(call.of, type) else first_paragraph(call.of)
    form = create_model(name, __base__=Form, __doc__=doc, **fields)
    form.call = call
    return form


def first_paragraph(of: object) -> str:
    """Return the first paragraph of a docstring, as one line."""
    return " ".join((inspect.getdoc(of) or "").partition("\n\n")[0].split())


def union_of(forms: Mapping[str, type[Form]], group: str, plain: Any = None) -> Any:
    """Return a union whose kinds are recognized by their keys; `plain` is the type allowed in place of a mapping."""
    fields = {key: {str(f.alias) for f in form.model_fields.values()} for key, form in forms.items()}
    tags = {key: f"{TAG}{group} {key}>" for key in forms}

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
    """Return the package's own subclasses of a base class, by name.

    Those of other packages do not count, nor private ones, which a driver has. With slots=True, each class leaves a
    duplicate, which is in no module.
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
        and not kind.__name__.startswith("_")
        and getattr(sys.modules[kind.__module__], kind.__name__, None) is kind
    ]
