"""The environment in which a pipeline is declared.

    env = StreamExecutionEnvironment("flights")
    env.from_source(Csv("…/flights.csv"), "flights").filter("dep_time IS NOT NULL").sink_to(Parquet("…"))

It counts ids and collects transformations; the compiler does everything else with the frozen `Pipeline`.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn, Self

from graph_compiler.declaration.artifacts.artifact_methods import ArtifactMethods
from graph_compiler.declaration.call_checks import held_to_signature
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.dag.airflow_arguments import NO_ARGUMENTS, AirflowArguments
from graph_compiler.declaration.dag.schedule import Schedule
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.operators import Backfill, PreviousVersion, Source, Sql
from graph_compiler.declaration.parameters.parameter import Parameter, Params, read_parameters
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.refusals.collected import Refused, add_new
from graph_compiler.declaration.refusals.constructors import StandsIn
from graph_compiler.declaration.refusals.guided import Guided
from graph_compiler.declaration.streams import DataStream
from graph_compiler.declaration.transformations import SourceTransformation, Transformation
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.identifiers import did_you_mean, is_legal_name, listing, shown

if TYPE_CHECKING:
    from graph_compiler.graphs.stream_graph import StreamGraph


_LONGEST_TAG = 100
"""The longest tag that Airflow stores, in characters."""


class StreamExecutionEnvironment(ArtifactMethods, Guided, metaclass=StandsIn):
    """Collects the transformations of one pipeline.

    `name` becomes the Airflow Dag id. `config` holds options under Flink's keys; `params` the run's parameters, as
    defaults or as a pydantic model (`declaration/parameters/`): `{{ params.x }}` in paths and connector options, `:x`
    in expressions. `schedule`, `description`, `tags` and `airflow` are suggestions for the Dag, which `build_dag` may
    override. Raises InvalidPipelineError for an invalid name or invalid parameters.
    """

    _noun: ClassVar[str] = "an environment"
    _for_streams: ClassVar[str] = 'call it on a stream: `from_source(Csv(path), "orders")` returns one'

    def __init__(  # noqa: PLR0913  # each by its keyword
        self,
        name: str,
        *,
        config: Mapping[str, str | int | bool] | None = None,
        params: Params | None = None,
        schedule: Schedule | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
        airflow: AirflowArguments | None = None,
    ) -> None:
        if not isinstance(name, str) or not is_legal_name(name):
            problem = Problem(
                message=f"{shown(name)} cannot be a pipeline's name",
                allowed="letters, digits, '_', '-' and '.', at most 250 of them",
                declared_at=caller_location(),
            )
            raise InvalidPipelineError(str(name), [problem])
        self.refused: list[Problem] = []
        """The calls that were refused while refusals were collected: without them, the declaration is incomplete."""
        self.is_refused = False
        """Whether it stands in for one that was refused while refusals were collected."""
        if isinstance(schedule, Refused):
            add_new(self.refused, schedule)
            schedule = None
        if isinstance(airflow, Refused):
            add_new(self.refused, airflow)
            airflow = None
        self._declared_at = caller_location()
        self._parameters, problems = read_parameters(params or {})
        problems = (*problems, *_config_problems(config or {}), *_word_problems(description, tags))
        if problems:
            placed = [replace(problem, declared_at=self._declared_at) for problem in problems]
            raise InvalidPipelineError(name, placed)
        self.name = name
        self._params_model = params if isinstance(params, type) else None
        self._schedule, self._description, self._tags = schedule, description, tuple(tags)
        self._airflow = NO_ARGUMENTS if airflow is None else airflow
        self._config = {key: _as_text(value) for key, value in (config or {}).items()}
        self._artifact_places = {}
        self._transformations: dict[int, Transformation] = {}
        self._roots: dict[int, None] = {}
        self._last_id = 0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the declared parameters."""
        return self._parameters

    @property
    def environment(self) -> Self:
        """Return itself; streams have the same property."""
        return self

    @held_to_signature
    def from_source(
        self,
        source: Connector,
        source_name: str,
        *,
        only_new: bool | str = False,
        lag: str | None = None,
        unbounded: bool = False,
    ) -> DataStream:
        """Start a stream with the rows of `source`.

        With `only_new=True`, a run reads the files that have arrived since the last one, or the rows that were added to
        a table of Iceberg or Delta; with `only_new="updated_at"`, the rows of a database whose column is higher than
        before, up to `lag` below its highest value. It needs a uid.

        With `unbounded=True`, it never ends: the pipeline is a stream of the files that arrive (docs/streaming.md).
        """
        operator = Source(source, is_bounded=not unbounded, only_new=only_new, lag=lag)
        return self._add_source(operator, source_name)

    @held_to_signature
    def from_target(
        self, target: Connector, source_name: str, *, schema: str, backfill: Literal["refuse", "latest"] = "refuse"
    ) -> DataStream:
        """Start a stream with the rows that `target` had before this run; a sink of this pipeline writes it.

        `schema` names the columns to read: the first run finds no files, and has no rows. A run of an earlier date than
        the last one is refused, or with `backfill="latest"` reads what is there.
        """
        if backfill not in set(Backfill):
            self.refuse(
                f"there is no backfill '{backfill}'", allowed=listing(Backfill), hint=did_you_mean(backfill, Backfill)
            )
        return self._add_source(PreviousVersion.of(target, schema, Backfill(backfill)), source_name)

    def _add_source(self, operator: Source, name: str) -> DataStream:
        return self.add(
            SourceTransformation(
                id=self.next_id(),
                name=name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                declared_at=caller_location(),
            )
        )

    @held_to_signature
    def sql(self, query: str, /, **streams: DataStream) -> DataStream:
        """Return the result of a query over streams: `sql("SELECT … FROM {a} JOIN {b} …", a=orders, b=customers)`.

        Raises InvalidPipelineError if there is no stream.
        """
        if not streams:
            self.refuse("sql needs at least one stream", allowed='sql("… FROM {orders}", orders=stream)')
        for name, stream in streams.items():
            if not isinstance(stream, DataStream):
                self.refuse(f"sql was given {name}={shown(stream)}", allowed="streams")
        first, *others = streams.values()
        operator = Sql(query, tuple(streams))
        return first._several_inputs(operator, *others) if others else first._one_input(operator)

    def pipeline(self) -> Pipeline:
        """Return the declaration so far as one frozen value."""
        found: set[int] = set()
        pending = list(self._roots)
        while pending:
            id = pending.pop()
            if id in self._transformations and id not in found:
                found.add(id)
                pending.extend(self._transformations[id].inputs)
        return Pipeline(
            name=self.name,
            transformations=tuple(self._transformations[id] for id in sorted(found)),
            config=tuple(sorted(self._config.items())),
            artifacts=self._artifacts(),
            parameters=self._parameters,
            params_model=self._params_model,
            schedule=self._schedule,
            airflow=self._airflow,
            description=self._description,
            tags=self._tags,
            declared_at=self._declared_at,
            unread_sources=tuple(
                source
                for id, source in self._transformations.items()
                if id not in found and isinstance(source, SourceTransformation)
            ),
        )

    def get_stream_graph(self, job_name: str | None = None, clear_transformations: bool = True) -> StreamGraph:
        """Translate the declaration; like Flink, clear the transformations afterwards unless told otherwise.

        Raises InvalidPipelineError with every problem found; an empty environment is one.
        """
        # Imported when called: declaring must not load the compiler, whose dependencies Spark's driver does not have.
        from graph_compiler.compiler.pipeline_compiler import compile_stream_graph

        pipeline = self.pipeline()
        stream_graph = compile_stream_graph(replace(pipeline, name=job_name or self.name))
        if clear_transformations:
            self._roots.clear()
        return stream_graph

    def get_execution_plan(self) -> str:
        """Return Flink's JSON plan of the declaration so far, for its plan visualizer; transformations are kept.

        Raises InvalidPipelineError as `get_stream_graph` does.
        """
        # Imported when called, as in get_stream_graph.
        from graph_compiler.explain.documents.graph_json import streaming_plan

        return json.dumps(streaming_plan(self.get_stream_graph(clear_transformations=False)), indent=2)

    @held_to_signature
    def execute(self, job_name: str | None = None) -> NoReturn:
        """Refuse to run: a module only declares, and Airflow, Spark's driver and every command import it.

        `graph-compiler run NAME` runs it.
        """
        self._refuse_to_run("execute", job_name)

    @held_to_signature
    def execute_async(self, job_name: str | None = None) -> NoReturn:
        """Refuse to run, like `execute`: whether a run is attached or detached depends on how it is started."""
        self._refuse_to_run("execute_async", job_name)

    def _refuse_to_run(self, method: str, job_name: str | None) -> NoReturn:
        named = f"; the pipeline's name is that of its environment, '{self.name}'" if job_name else ""
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        place = caller_location()
        # Of a script that Python runs, the user sees what to type instead; a module may be imported by any name.
        is_script = script is not None and place is not None and os.path.abspath(place.file) == os.path.abspath(script)
        what = shlex.quote(os.path.relpath(script)) if is_script and script is not None else "NAME"
        self.refuse(
            f"{method}() was called, but a pipeline's module only declares the pipeline{named}",
            allowed="a module that ends after its last sink_to(…)",
            hint=f"remove the call{', and its `if __name__` block' if is_script else ''}; "
            f"`graph-compiler run {what} --in-process` runs the pipeline now, `graph-compiler run {what}` under "
            f"Airflow, `graph-compiler submit {what}` in an Airflow with a scheduler, and build_dag(env) on a schedule",
        )

    def next_id(self) -> int:
        """Return the next transformation id. Ids are counted per environment; in Flink per process (decision 2)."""
        self._last_id += 1
        return self._last_id

    def add(self, transformation: Transformation) -> DataStream:
        """Add a transformation; it replaces an earlier one with the same id."""
        if transformation.is_root and transformation.id not in self._transformations:
            self._roots[transformation.id] = None
        self._transformations[transformation.id] = transformation
        return DataStream(self, transformation.id)

    def refuse(self, message: str, *, allowed: str | None = None, hint: str | None = None) -> NoReturn:
        """Refuse a call on the environment itself."""
        problem = Problem(message=message, allowed=allowed, hint=hint, declared_at=caller_location())
        raise InvalidPipelineError(self.name, [problem]) from None

    def transformation(self, id: int) -> Transformation:
        """Return the current transformation of an id."""
        return self._transformations[id]


def _config_problems(config: object) -> Iterator[Problem]:
    """Yield a `config` that is not a mapping of options; the compiler checks each key."""
    if not isinstance(config, Mapping):
        yield Problem(message=f"config is {shown(config)}", allowed='a mapping: {"parallelism.default": 2}')
        return
    for key, value in config.items():
        if not isinstance(key, str) or not isinstance(value, str | int | float):
            yield Problem(message=f"option {shown(key)} is {shown(value)}", allowed="text, a number, True or False")


def _word_problems(description: object, tags: object) -> Iterator[Problem]:
    """Yield a description or tags that Airflow's list of Dags cannot show."""
    if not isinstance(description, str | None):
        yield Problem(key="description", message=f"is {shown(description)}", allowed="text")
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        yield Problem(key="tags", message=f"is {shown(tags)}", allowed="texts in a list")
        return
    for tag in tags:
        if not isinstance(tag, str) or not 0 < len(tag) <= _LONGEST_TAG:
            yield Problem(key="tags", message=f"there is {shown(tag)}", allowed="texts of 1 to 100 characters")


def _as_text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
