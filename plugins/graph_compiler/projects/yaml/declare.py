"""Make the calls of the fluent API for a file's model, in the order of the file: sources, steps, sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from inspect import Parameter
from pathlib import Path
from typing import Any

from graph_compiler.declaration.artifacts.user_artifact import project_of
from graph_compiler.declaration.dag.airflow_arguments import NO_ARGUMENTS
from graph_compiler.declaration.dag.schedule import Schedule
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.locations import declaring_at
from graph_compiler.declaration.parameters.parameter import Params
from graph_compiler.declaration.streams import DataStream
from graph_compiler.declaration.streams.settings_methods import HasSettings
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.errors import (
    FunctionNotImportableError,
    GraphCompilerError,
    InvalidPipelineError,
    Problem,
    SourceLocation,
)
from graph_compiler.identifiers import did_you_mean, listing, quoted
from graph_compiler.options.parameter_checks import default_problems
from graph_compiler.options.schedule_checks import schedule_problems
from graph_compiler.projects.yaml.forms import Call, Form, SqlFile, parameters, value_of
from graph_compiler.projects.yaml.pipeline_spec import PipelineSpec
from graph_compiler.projects.yaml.references import find_function, find_model, read_query
from graph_compiler.projects.yaml.refusals import KeyPath, problem_in
from graph_compiler.projects.yaml.run_forms import ParameterForm
from graph_compiler.projects.yaml.tree import Node, place_of
from graph_compiler.projects.yaml.vocabulary import OPERATIONS, POSITION_KEYS, PREFIXES, RENAMED, SETTINGS

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
        written = found.written()
        return self.call(self._named(written["from"], (*path, "from")), str(found.call.key), written, path)

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
        method = getattr(on, operation.of.__name__, None)
        if method is None:
            hint = "add the columns: key_by: [columns]" if isinstance(on, DataStream) else None
            raise self.refused((*path, key), f"it cannot follow {_description(on)}", hint=hint)
        self._refuse_taken(getattr(type(on), operation.of.__name__), written, path)
        if key == "select":
            return method(**_selected(written[key]))
        arguments, named = self._arguments(operation, written, path)
        return method(*arguments, **named)

    def _refuse_taken(self, method: Callable[..., object], written: Written, path: KeyPath) -> None:
        """Refuse arguments for a function that its call would take for its own: as in Python, one of each name."""
        own = [name for name, one in parameters(method).items() if one.kind is not Parameter.VAR_KEYWORD]
        for key in written.get("arguments", ()):
            if key in (*own, "self"):
                message = f"the call itself has an argument '{key}'"
                allowed = "other names for the function's arguments"
                raise self.refused((*path, "arguments", key), message, allowed=allowed)

    def check_arguments(self, key: str, written: Written, path: KeyPath) -> None:
        """Refuse what the step of a refused input names itself: its functions, files and other streams."""
        if key != "select":
            self._arguments(OPERATIONS[key], written, path)

    def set(self, on: object, written: Written, path: KeyPath) -> None:
        """Apply the settings of a step to its operator."""
        for key, setting in SETTINGS.items():
            there = [word for word in setting.keys if word in written]
            if not there:
                continue
            setter = getattr(on, setting.of.__name__, None)
            if setter is None or not isinstance(on, HasSettings):
                raise self.refused((*path, there[0]), f"it is set on {_description(on)}", allowed="operators")
            if there[0] != key:
                raise self.refused((*path, there[0]), f"it needs '{key}'", allowed="both")
            takes = bool(parameters(setting.of))
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

    def _arguments(self, operation: Call, written: Written, path: KeyPath) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call: by position, and by keyword."""
        arguments: list[Any] = []
        named: dict[str, Any] = {}
        for number, (name, parameter) in enumerate(parameters(operation.of).items()):
            word = RENAMED.get(name, name) if number else str(operation.key)
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


Broken = Mapping[tuple[str | int, str | int], Written]
"""Sources, steps and sinks that were already refused, by path, with their content."""


def declare(
    spec: PipelineSpec, tree: Node, file: str, broken: Broken, *, knows_streams: bool
) -> tuple[StreamExecutionEnvironment | None, list[Problem]]:
    """Make the calls of the file; return the declaration, and all problems of the calls.

    The declaration is None if its environment was refused: the calls are made on another, for their problems. Steps
    that read a `broken` part are skipped, since they are not its cause; so are unknown names unless `knows_streams`.
    """
    with declaring_at(SourceLocation(file, place_of(tree, ("name",)).line)):
        env, problems = _environment(spec, tree, file)
        used = env or StreamExecutionEnvironment(_STAND_IN)
    labels = frozenset(label for step in spec.steps if (label := _label(step.written())))
    calls = Calls(used, tree, file, labels, knows_streams=knows_streams)
    declaring = _Declaring(calls, problems=problems)
    for section, key in broken:
        if section == "sources":
            declaring.calls.streams[str(key)] = None
    for name, source in spec.sources.items():
        declaring.source(name, source)
    for number, step in enumerate(spec.steps):
        if (written := broken.get(("steps", number))) is not None:
            declaring.pass_over(written)
        else:
            declaring.step(number, step)
    for name, sink in spec.sinks.items():
        declaring.sink(name, sink)
    return env, declaring.problems


_STAND_IN = "refused"
"""The name of an environment in place of a refused one."""


@dataclass(slots=True)
class _Declaring:
    """The walk through a file. `before` is the result of the last step, None if it was refused."""

    calls: Calls
    before: object | None = None
    problems: list[Problem] = field(default_factory=list)

    def source(self, name: str, source: Form) -> None:
        path: KeyPath = ("sources", name)
        given = None
        with self._at(path):
            written, key = source.written(), str(source.call.key)
            said = {k: v for k, v in written.items() if k not in source.call.keys}
            if key == "from_target":
                given = self._previous_version(name, written, path)
            else:
                connector: Any = source.value(lambda text: self.calls.function(text, (*path, key)))
                position = {k: said.pop(k) for k in POSITION_KEYS if k in said}
                given = self.calls.env.from_source(connector, name, **position)
            self.calls.set(given, said, path)
        self._name(name, given, path)

    def step(self, number: int, step: Form) -> None:
        path: KeyPath = ("steps", number)
        written, key = step.written(), str(step.call.key)
        given: Any = None
        with self._at(path):
            given = self._given(key, written, path)
            # A step that is not an operator has only the name under which other steps read it.
            is_label = "as" not in written and not _is_operator(given)
            settings = {k: value for k, value in written.items() if k != "name" or not is_label}
            self.calls.set(given, settings, path)
        self.before = given
        if (label := _label(written)) is not None:
            self._name(label, given, (*path, "as" if "as" in written else "name"))

    def pass_over(self, written: Written) -> None:
        """Suppress problems of steps that read a broken step."""
        self.before = None
        if isinstance(label := _label(written), str):
            self.calls.streams[label] = None

    def sink(self, name: str, sink: Form) -> None:
        path: KeyPath = ("sinks", name)
        with self._at(path):
            written = {**sink.written(), "name": name}
            on = self.calls.stream(written["from"], (*path, "from"))
            self.calls.set(self.calls.call(on, "sink_to", written, path), written, path)

    @contextmanager
    def _at(self, path: KeyPath) -> Iterator[None]:
        """Set the location of declarations inside; record refused calls, and continue."""
        place = place_of(self.calls.tree, path)
        location = SourceLocation(self.calls.file, place.line)
        try:
            with declaring_at(location):
                yield
        except StepRefusedError as refused:
            if refused.problem is not None:
                self.problems.append(refused.problem)
        except InvalidPipelineError as error:
            own = problem_in(self.calls.tree, self.calls.file, path, "")
            self.problems.extend(replace(problem, key=own.key, column=own.column) for problem in error.problems)
        except FunctionNotImportableError as error:
            self.problems.append(problem_in(self.calls.tree, self.calls.file, path, str(error)))

    def _given(self, key: str, written: Written, path: KeyPath) -> Any:
        calls = self.calls
        if key == "from_source":
            found = written[key]
            connector = value_of(found, lambda text: calls.function(text, (*path, key)))
            position = {k: written[k] for k in POSITION_KEYS if k in written}
            return calls.env.from_source(connector, written["name"], **position)
        if key == "from_target":
            return self._previous_version(written["name"], written, path)
        if key == "sql" and "streams" in written:
            if "from" in written:
                raise calls.refused((*path, "from"), "it cannot be combined with 'streams'", allowed="one")
            return calls.call(None, key, written, path)
        try:
            on = self._input(written, path)
        except StepRefusedError:
            with self._at(path):
                calls.check_arguments(key, written, path)
            raise
        for prefix in PREFIXES:
            if prefix in written and prefix != key:
                on = calls.call(on, prefix, written, path)
        return calls.call(on, key, written, path)

    def _previous_version(self, name: str, written: Written, path: KeyPath) -> DataStream:
        key = "from_target"
        target = value_of(written[key], lambda text: self.calls.function(text, (*path, key)))
        named = {word: value_of(written[word], str) for word in ("schema", "backfill") if word in written}
        return self.calls.env.from_target(target, name, **named)

    def _input(self, written: Written, path: KeyPath) -> Any:
        if "from" in written:
            return self.calls.read(written["from"], (*path, "from"))
        if self.before is None and path != ("steps", 0):
            raise StepRefusedError(None)
        if self.before is None:
            message = "'from' is missing, and there is no step before it"
            raise self.calls.refused(path, message, allowed=listing(self.calls.streams))
        return self.before

    def _name(self, name: str, given: object | None, path: KeyPath) -> None:
        if name in self.calls.streams:
            message, hint = f"'{name}' is declared twice", "'as' gives a step a name to be read by"
            self.problems.append(problem_in(self.calls.tree, self.calls.file, path, message, hint=hint))
        self.calls.streams[name] = given


def _environment(spec: PipelineSpec, tree: Node, file: str) -> tuple[StreamExecutionEnvironment | None, list[Problem]]:
    """Return the environment, None if it is refused, and all its problems."""
    config = {key: str(value) if isinstance(value, float) else value for key, value in spec.config.items()}
    schedule = None if spec.schedule is None else Schedule(**spec.schedule.arguments())
    problems = [] if schedule is None else list(schedule_problems(schedule))
    airflow, env = NO_ARGUMENTS, None
    try:
        airflow = spec.airflow.arguments() if spec.airflow else NO_ARGUMENTS
    except FunctionNotImportableError as error:
        problems.append(
            Problem(
                key="airflow",
                message=str(error),
                allowed="a function of a module that can be imported: module:function",
                hint=error.hint,
            )
        )
    try:
        env = StreamExecutionEnvironment(
            spec.name,
            config=config,
            params=_params(spec, file),
            schedule=None if problems else schedule,
            description=spec.description,
            tags=spec.tags or (),
            airflow=airflow,
        )
        problems += default_problems(env.pipeline().parameters)
    except FunctionNotImportableError as error:
        problems.append(Problem(key="params", message=str(error), hint=error.hint))
    except InvalidPipelineError as error:
        problems += error.problems
    return env, [_placed(one, tree, file) for one in problems]


def _params(spec: PipelineSpec, file: str) -> Params:
    """Return the parameters as in Python. Raises FunctionNotImportableError for a missing model."""
    if isinstance(spec.params, str):
        return find_model(spec.params)
    return {
        name: given.keywords(project_of(Path(file))) if isinstance(given, ParameterForm) else given
        for name, given in spec.params.items()
    }


def _placed(problem: Problem, tree: Node, file: str) -> Problem:
    """Return a problem with its place in the file; its key is `params.<name>` or `schedule.<field>`, else `name`."""
    section, _, name = (problem.key or "name").partition(".")
    path: KeyPath = (section, name) if name else (section,)
    return problem_in(tree, file, path, problem.message, allowed=problem.allowed, hint=problem.hint)


def _label(written: Written) -> str | None:
    label: str | None = written.get("as", written.get("name"))
    return label


def _is_operator(given: object) -> bool:
    if not isinstance(given, HasSettings):
        return False
    return isinstance(given.environment.transformation(given.id), PhysicalTransformation)
