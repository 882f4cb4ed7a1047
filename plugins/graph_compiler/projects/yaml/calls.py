"""One call of the fluent API, made from a step: names become streams and functions, forms become values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from typing import Any

from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.streams import DataStream
from graph_compiler.declaration.streams.settings_methods import HasSettings
from graph_compiler.errors import FunctionNotImportableError, GraphCompilerError, Problem
from graph_compiler.identifiers import did_you_mean, listing, quoted
from graph_compiler.projects.yaml.forms import parameters, written_values
from graph_compiler.projects.yaml.functions import find_function, read_query
from graph_compiler.projects.yaml.operations import (
    INLINE_FORMS,
    OPERATIONS,
    RENAMED,
    SETTINGS,
    Operation,
)
from graph_compiler.projects.yaml.places import value_of
from graph_compiler.projects.yaml.refusals import KeyPath, problem_in
from graph_compiler.projects.yaml.syntax.tree import Node
from graph_compiler.projects.yaml.values import Form, SqlFile

_WHAT = {
    "DataStream": "rows without keys",
    "KeyedStream": "rows by key",
    "WindowedStream": "windowed rows, which need aggregate",
    "ConnectedStreams": "connected streams, which need transform",
    "DataStreamSink": "a sink, which has no output",
}
Written = Mapping[str, Any]


class StepRefusedError(GraphCompilerError):
    """A step cannot be declared; without a problem if its input was refused. It never leaves this package."""

    def __init__(self, problem: Problem | None) -> None:
        self.problem = problem
        super().__init__(problem)


@dataclass(frozen=True, slots=True)
class Calls:
    """What calls need: the environment, the file, and the streams so far by name (None for a refused one).

    Without `knows_streams`, a part of the file that may declare streams was refused as a whole.
    """

    env: StreamExecutionEnvironment
    tree: Node
    file: str
    later: frozenset[str]
    knows_streams: bool = True
    streams: dict[str, object | None] = field(default_factory=dict)

    def refused(self, path: KeyPath, message: str, **words: str | None) -> StepRefusedError:
        """Return the error for a problem at a path."""
        return StepRefusedError(problem_in(self.tree, self.file, path, message, **words))

    def read(self, found: object, path: KeyPath) -> Any:
        """Return the stream of a name, or of `{from: name, broadcast: true}`."""
        if not isinstance(found, Form):
            return self._named(str(found), path)
        written = written_values(found)
        key = next(key for key, form in INLINE_FORMS.items() if isinstance(found, form))
        return self.call(self._named(written["from"], (*path, "from")), key, written, path)

    def stream(self, found: object, path: KeyPath) -> DataStream:
        """Return the same; it must be a stream that any operator can read."""
        stream = self.read(found, path)
        if not isinstance(stream, DataStream):
            raise self.refused(path, f"it is {_description(stream)}", allowed="a stream of rows")
        return stream

    def call(self, on: object, key: str, written: Written, path: KeyPath) -> Any:
        """Call the method of `key` on the input of a step."""
        if key == "sql" and "streams" in written:
            found = written["streams"].items()
            streams = {name: self.stream(item, (*path, "streams", name)) for name, item in found}
            return self.env.sql(self._query(written["sql"], (*path, "sql")), **streams)
        operation = OPERATIONS[key]
        method = getattr(on, operation.method.__name__, None)
        if method is None:
            hint = "add the columns: key_by: [columns]" if isinstance(on, DataStream) else None
            raise self.refused((*path, key), f"it cannot follow {_description(on)}", hint=hint)
        if key == "select":
            return method(**_selected(written[key]))
        arguments, named = self._arguments(operation, written, path)
        return method(*arguments, **named)

    def check_arguments(self, key: str, written: Written, path: KeyPath) -> None:
        """Refuse what the step of a refused input names itself: its functions, files and other streams."""
        if key != "select":
            self._arguments(OPERATIONS[key], written, path)

    def set(self, on: object, written: Written, path: KeyPath) -> None:
        """Apply the settings of a step to its operator."""
        for key, method in SETTINGS.items():
            words = [key, *list(parameters(method))[1:]]
            there = [word for word in words if word in written]
            if not there:
                continue
            setter = getattr(on, method.__name__, None)
            if setter is None or not isinstance(on, HasSettings):
                raise self.refused(
                    (*path, there[0]), f"it is set on {_description(on)}", allowed="operators"
                )
            if there[0] != key:
                raise self.refused((*path, there[0]), f"it needs '{key}'", allowed="both")
            takes = bool(parameters(method))
            setter(*(value_of(written[word], str) for word in there if takes))

    def function(self, name: str, path: KeyPath) -> Callable[..., object]:
        """Import a function."""
        try:
            return find_function(name)
        except FunctionNotImportableError as error:
            allowed = "module:function, in an importable module"
            raise self.refused(path, str(error), allowed=allowed, hint=error.hint) from None

    def _named(self, name: str, path: KeyPath) -> object:
        if name in self.streams:
            if self.streams[name] is None:
                raise StepRefusedError(None)
            return self.streams[name]
        if not self.knows_streams:
            raise StepRefusedError(None)
        hint = did_you_mean(name, self.streams)
        if name in self.later:
            hint = "it is declared further down; a step can only read what is declared above it"
        allowed = listing(self.streams)
        raise self.refused(path, f"there is no stream called '{name}'", allowed=allowed, hint=hint)

    def _arguments(
        self, operation: Operation, written: Written, path: KeyPath
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call: by position, and by keyword."""
        arguments: list[Any] = []
        named: dict[str, Any] = {}
        for number, (name, parameter) in enumerate(parameters(operation.method).items()):
            word = RENAMED.get(name, name) if number else operation.key
            if word not in written:
                continue
            value = self._argument(parameter, (*path, word), written)
            match parameter.kind:
                case Parameter.VAR_POSITIONAL:
                    arguments.extend(value)
                case Parameter.VAR_KEYWORD:
                    named.update(value)
                case Parameter.KEYWORD_ONLY:
                    named[name] = value
                case _:
                    arguments.append(value)
        return arguments, named

    def _argument(self, parameter: Parameter, path: KeyPath, written: Written) -> Any:
        kind, found = parameter.annotation, written[str(path[-1])]
        if kind is DataStream and parameter.kind is Parameter.VAR_POSITIONAL:
            return [self.stream(item, (*path, number)) for number, item in enumerate(found)]
        if kind is DataStream:
            return self.stream(found, path)
        # As in Python: an expression needs no columns, a function does.
        is_partition = kind == str | Callable[..., object] and "keys" in written
        if kind == Callable[..., object] or is_partition:
            return self.function(str(found), path)
        if path[-1] == "sql":
            return self._query(found, path)
        value = value_of(found, lambda name: self.function(name, path))
        return tuple(value) if isinstance(value, list) else value

    def _query(self, found: object, path: KeyPath) -> str:
        if not isinstance(found, SqlFile):
            return str(found)
        try:
            return read_query(Path(self.file).parent, found.file)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            message = f"'{found.file}' cannot be read: {reason}"
            allowed = "a file of SQL in this file's folder, or anywhere in its pipelines folder"
            raise self.refused((*path, "file"), message, allowed=allowed) from None


def _description(on: object) -> str:
    return _WHAT[type(on).__name__]


def _selected(items: list[str | dict[str, str]]) -> dict[str, str]:
    """Return every expression by name, in written order; a column is its own expression."""
    named: dict[str, str] = {}
    for item in items:
        named.update({item: quoted(item)} if isinstance(item, str) else item)
    return named
