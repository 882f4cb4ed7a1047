"""Make the calls of the fluent API for a file's model, in the order of the file: sources, steps, sinks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from graph_compiler.declaration.artifacts.user_artifact import project_of
from graph_compiler.declaration.dag.airflow_arguments import NO_ARGUMENTS
from graph_compiler.declaration.dag.schedule import Schedule
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.locations import declaring_at
from graph_compiler.declaration.parameters.parameter import Params
from graph_compiler.declaration.streams.settings_methods import HasSettings
from graph_compiler.declaration.transformations import PhysicalTransformation
from graph_compiler.errors import (
    FunctionNotImportableError,
    InvalidPipelineError,
    Problem,
    SourceLocation,
)
from graph_compiler.identifiers import listing
from graph_compiler.options.parameter_checks import default_problems
from graph_compiler.options.schedule_checks import schedule_problems
from graph_compiler.projects.yaml.calls import Calls, StepRefusedError, Written
from graph_compiler.projects.yaml.forms import written_values
from graph_compiler.projects.yaml.functions import find_model
from graph_compiler.projects.yaml.operations import PREFIXES, SOURCE_FORMS, STEP_FORMS
from graph_compiler.projects.yaml.pipeline_spec import PipelineSpec
from graph_compiler.projects.yaml.places import CONNECTOR_KEYS, CONNECTORS, make_value, value_of
from graph_compiler.projects.yaml.refusals import KeyPath, problem_in
from graph_compiler.projects.yaml.run_forms import ParameterForm
from graph_compiler.projects.yaml.syntax.tree import Node, place_of
from graph_compiler.projects.yaml.values import Form

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
    labels = frozenset(label for step in spec.steps if (label := _label(written_values(step))))
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
            written = written_values(source)
            key = next(key for key, form in SOURCE_FORMS.items() if isinstance(source, form))
            connector = make_value(
                CONNECTORS[key], key, written, lambda text: self.calls.function(text, (*path, key))
            )
            given = self.calls.env.from_source(connector, name)
            settings = {k: v for k, v in written.items() if k not in CONNECTOR_KEYS[key]}
            self.calls.set(given, settings, path)
        self._name(name, given, path)

    def step(self, number: int, step: Form) -> None:
        path: KeyPath = ("steps", number)
        written = written_values(step)
        key = next(key for key, form in STEP_FORMS.items() if isinstance(step, form))
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
            written = {**written_values(sink), "name": name}
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
            self.problems.extend(
                replace(problem, key=own.key, column=own.column) for problem in error.problems
            )
        except FunctionNotImportableError as error:
            self.problems.append(problem_in(self.calls.tree, self.calls.file, path, str(error)))

    def _given(self, key: str, written: Written, path: KeyPath) -> Any:
        calls = self.calls
        if key == "from_source":
            found = written[key]
            connector = value_of(found, lambda text: calls.function(text, (*path, key)))
            return calls.env.from_source(connector, written["name"])
        if key == "sql" and "streams" in written:
            if "from" in written:
                raise calls.refused(
                    (*path, "from"), "it cannot be combined with 'streams'", allowed="one"
                )
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
            self.problems.append(
                problem_in(self.calls.tree, self.calls.file, path, message, hint=hint)
            )
        self.calls.streams[name] = given


def _environment(
    spec: PipelineSpec, tree: Node, file: str
) -> tuple[StreamExecutionEnvironment | None, list[Problem]]:
    """Return the environment, None if it is refused, and all its problems."""
    config = {
        key: str(value) if isinstance(value, float) else value for key, value in spec.config.items()
    }
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
