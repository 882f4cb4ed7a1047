"""The YAML forms of types of the Python API: pydantic types with our error messages.

A list of names may be written as one name; a function is `module:name`; a stream is the name of a step.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from inspect import isclass, isfunction
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, PlainValidator, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from graph_compiler.declaration.parameters.parameter import is_model
from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import did_you_mean
from graph_compiler.projects.yaml.text_file import file_below, read_file_bytes

_LONGEST = 60
TAG = "<"
"""The prefix of a union's tag: it is not a key of the file, and is removed from an error's path."""


class Form(BaseModel):
    """The base class of forms: no unknown keys, no conversions."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    def given(self) -> dict[str, Any]:
        """Return the written values, by field name."""
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}


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


def _keys(value: object) -> list[str] | dict[str, str]:
    if isinstance(value, dict):
        return _columns(value)
    return _names(value)


def _selection(value: object) -> list[str | dict[str, str]]:
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str) or _is_columns(item) for item in items):
        raise refused(f"is {shown_value(value)}", "names of columns, and mappings of names to expressions")
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
Pair = _own(_pair, {**_TEXTS, "minItems": 2, "maxItems": 2})
Columns = _own(_columns, _MAPPING)
Keys = _own(_keys, {"anyOf": [_TEXT, _TEXTS, _MAPPING]})
Selection = _own(_selection, {"anyOf": [_TEXT, _MAPPING, {"type": "array", "items": {"anyOf": [_TEXT, _MAPPING]}}]})
Sets = _own(_sets, {"type": "array", "items": {"anyOf": [_TEXT, _TEXTS]}})
Yes = Literal[True]
"""The value of a call without arguments: `rebalance: true`."""
FunctionName = Annotated[str, Field(description="A function of an importable module: pipelines.flights:clean")]
PlainValue = bool | int | float | str
Cells = list[list[bool | int | float | str | None]]


class SqlFile(Form):
    """A query in a separate file, beside the pipeline's."""

    file: str = Field(description="Path from the folder of this YAML file.")


class SecretForm(Form):
    """A field of an Airflow connection."""

    secret: str = Field(description="Connection id.")
    field: str = Field(default="password", description="password, login, host, port, schema, or a key of its extra.")


class BoundParameter(Form):
    """A parameter of the pipeline in place of a value."""

    param: str = Field(description="The name of one of the params, or run_date.")


def either(plain: Any, form: type[Form]) -> Any:
    """Return the union of a plain value and a mapping of this form."""
    tag = f"{TAG}{form.__name__}>"
    choice = Discriminator(lambda value: tag if isinstance(value, dict | Form) else f"{TAG}plain>")
    return Annotated[Annotated[plain, Tag(f"{TAG}plain>")] | Annotated[form, Tag(tag)], choice]


SqlText = either(str, SqlFile)
SecretText = either(str, SecretForm)
Options = dict[str, either(PlainValue, SecretForm)]  # type: ignore[misc, valid-type]  # made, not written
Arguments = dict[str, either(PlainValue, BoundParameter)]  # type: ignore[misc, valid-type]  # the same
"""The keyword arguments of a function."""


MAX_QUERY = 1_000_000
_REFERENCE = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def find_function(reference: str) -> Callable[..., object]:
    """Import `module:function`; raises FunctionNotImportableError, whatever the module itself raises.

    An object of the module that can be called is a function, too: a notifier of Airflow.
    """
    function: Callable[..., object] = _find(reference, "function", callable, _is_function)
    return function


def name_of(function: object) -> str | None:
    """Return the `module:name` under which an imported module has an object, None if none has.

    A function has a module of its own. An object that can be called does not know where it is.
    """
    own = f"{getattr(function, '__module__', '')}:{getattr(function, '__qualname__', '')}"
    loaded = [(key, module) for key, module in sys.modules.items() if _has_names(key, module)]
    named = (
        f"{key}:{name}"
        for key, module in sorted(loaded, key=lambda each: each[0])
        for name, value in list(vars(module).items())
        if value is function
    )
    for reference in (own, *(() if isfunction(function) else named)):
        try:
            if find_function(reference) is function:
                return str(reference)
        except FunctionNotImportableError:
            continue
    return None


def _has_names(key: str, module: object) -> bool:
    return key != "__main__" and isinstance(module, ModuleType)


def _is_function(value: object) -> bool:
    return callable(value) and not isclass(value)


def find_model(reference: str) -> type[Any]:
    """Import `module:Model`, a pydantic model; raises FunctionNotImportableError as above."""
    model: type[Any] = _find(reference, "pydantic model", is_model, is_model)
    return model


def _find(reference: str, noun: str, is_allowed: Callable[[object], bool], is_meant: Callable[[object], bool]) -> Any:
    if _REFERENCE.fullmatch(reference) is None:
        raise FunctionNotImportableError(f"is {reference!r}")
    module_name, _, name = reference.partition(":")
    try:
        module = import_module(module_name)
    except (Exception, SystemExit) as error:  # a user's module may raise any exception
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({frames[-1].filename}:{frames[-1].lineno})" if _is_of(module_name, error) else ""
        raise FunctionNotImportableError(
            f"cannot import {module_name}: {type(error).__name__}: {error}{where}"
        ) from None
    found = getattr(module, name, None)
    if not is_allowed(found):
        known = [key for key, value in vars(module).items() if is_meant(value)]
        raise FunctionNotImportableError(f"{module_name} has no {noun} '{name}'", hint=did_you_mean(name, known))
    return found


def _is_of(module: str, error: BaseException) -> bool:
    """Whether it was raised in the module's own code, and not while searching for the module."""
    names = [frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return module in names and not str(names[-1]).startswith("importlib")


def read_query(folder: Path, name: str) -> str:
    """Read a file of SQL by its path from a folder; raises OSError, or ValueError if it may not be read.

    That is: a file in another place, of another kind, too large, or not in UTF-8.
    """
    return read_file_bytes(file_below(folder, name), most=MAX_QUERY).decode("utf-8")
