"""The place a pipeline is declared in.

    env = StreamExecutionEnvironment("flights")
    env.from_source(Csv("…/flights.csv"), "flights").filter("dep_time IS NOT NULL").sink_to(Parquet("…"))

It counts ids and collects transformations; everything else is done by the compiler on the frozen `Pipeline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.operators import Source, Sql
from graph_compiler.declaration.parameters import Params, read_parameters
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.schedule import Schedule
from graph_compiler.declaration.streams import DataStream
from graph_compiler.declaration.transformations import SourceTransformation, Transformation
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.identifiers import is_legal_name

if TYPE_CHECKING:
    from graph_compiler.graphs.stream_graph import StreamGraph


class StreamExecutionEnvironment:
    """Collects the transformations of one pipeline.

    `name` becomes the Airflow Dag id. `config` holds options under Flink's keys; `params` the run's parameters, by
    their defaults or as a pydantic model (`declaration/parameters.py`): `{{ params.x }}` in paths and connector
    options, `:x` in expressions. `schedule`, `description` and `tags` are hints for the Dag, which `build_dag` may
    overrule. Raises InvalidPipelineError for a name or parameters that cannot be.
    """

    def __init__(
        self,
        name: str,
        *,
        config: Mapping[str, str | int | bool] | None = None,
        params: Params | None = None,
        schedule: Schedule | None = None,
        description: str | None = None,
        tags: Sequence[str] = (),
    ) -> None:
        if not is_legal_name(name):
            problem = Problem(
                message=f"'{name}' cannot be a pipeline's name",
                allowed="letters, digits, '_', '-' and '.', at most 250 of them",
            )
            raise InvalidPipelineError(name, [problem])
        self._parameters, problems = read_parameters(params or {})
        if problems:
            raise InvalidPipelineError(name, problems)
        self.name = name
        self._params_model = params if isinstance(params, type) else None
        self._schedule, self._description, self._tags = schedule, description, tuple(tags)
        self._config = {key: _as_text(value) for key, value in (config or {}).items()}
        self._transformations: dict[int, Transformation] = {}
        self._roots: dict[int, None] = {}
        self._last_id = 0

    def from_source(self, source: Connector, source_name: str) -> DataStream:
        """Start a stream of the rows `source` holds."""
        operator = Source(source)
        return self.add(
            SourceTransformation(
                id=self.next_id(),
                name=source_name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                declared_at=caller_location(),
            )
        )

    def sql(self, query: str, /, **streams: DataStream) -> DataStream:
        """Give what a query over several streams gives: `sql("SELECT … FROM {a} JOIN {b} …", a=orders, b=customers)`.

        Raises InvalidPipelineError where there is no stream.
        """
        if not streams:
            problem = Problem(
                message="sql was given no stream", allowed='sql("… FROM {orders}", orders=stream)'
            )
            raise InvalidPipelineError(self.name, [problem])
        first, *others = streams.values()
        operator = Sql(query, tuple(streams))
        return first._several_inputs(operator, *others) if others else first._one_input(operator)

    def pipeline(self) -> Pipeline:
        """Give the declaration so far as one frozen value: the operators, and all they read."""
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
            parameters=self._parameters,
            params_model=self._params_model,
            schedule=self._schedule,
            description=self._description,
            tags=self._tags,
        )

    def get_stream_graph(
        self, job_name: str | None = None, clear_transformations: bool = True
    ) -> StreamGraph:
        """Translate the declaration; like Flink, forget the transformations afterwards unless told otherwise.

        Raises InvalidPipelineError with every problem found, an empty environment among them.
        """
        # Imported when called: declaring must not load the compiler, which Spark's driver has no packages for.
        from graph_compiler.compiler.pipeline_compiler import compile_stream_graph

        pipeline = self.pipeline()
        stream_graph = compile_stream_graph(replace(pipeline, name=job_name or self.name))
        if clear_transformations:
            self._roots.clear()
        return stream_graph

    def next_id(self) -> int:
        """Count one transformation. The counter is this environment's own: Flink's is the process's (DESIGN D2)."""
        self._last_id += 1
        return self._last_id

    def add(self, transformation: Transformation) -> DataStream:
        """Take a transformation in; one with a known id replaces it."""
        if transformation.is_root and transformation.id not in self._transformations:
            self._roots[transformation.id] = None
        self._transformations[transformation.id] = transformation
        return DataStream(self, transformation.id)

    def transformation(self, id: int) -> Transformation:
        """Give the transformation as it stands now."""
        return self._transformations[id]


def _as_text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
