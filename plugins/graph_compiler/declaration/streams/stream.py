"""The base class of streams: it adds transformations after itself, for the fluent API."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE, FunctionRef, why_not_callable
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.operators import Operator, OperatorSettings
from graph_compiler.declaration.parameters.parameter import Argument
from graph_compiler.declaration.partitioners import ExchangeMode, GlobalPartitioner, Partitioner
from graph_compiler.declaration.streams.bound_arguments import argument_problems
from graph_compiler.declaration.streams.settings_methods import HasSettings
from graph_compiler.declaration.transformations import (
    MultipleInputTransformation,
    OneInputTransformation,
    PartitionTransformation,
    TwoInputTransformation,
)
from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import counted, shown

if TYPE_CHECKING:
    from graph_compiler.declaration.streams.data_stream import DataStream


class Stream(HasSettings):
    """The output of one transformation, as an environment and an id."""

    def _one_input(
        self,
        operator: Operator,
        state_keys: tuple[str, ...] = (),
        name: str | None = None,
        *,
        expensive: bool = False,
        inherits_parallelism: bool = False,
    ) -> DataStream:
        input = self._gathered() if operator.is_non_parallel else self
        return self.environment.add(
            OneInputTransformation(
                id=self.environment.next_id(),
                inputs=(input.id,),
                name=name or operator.default_name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                settings=OperatorSettings(parallelism=1 if operator.is_non_parallel else None, expensive=expensive),
                state_keys=state_keys,
                declared_at=caller_location(),
                inherits_parallelism=inherits_parallelism,
            )
        )

    def _several_inputs(
        self,
        operator: Operator,
        *others: Stream,
        state_keys: tuple[str, ...] = (),
        name: str | None = None,
        expensive: bool = False,
    ) -> DataStream:
        """Add an operator that reads this stream first, then the others."""
        self._check_streams(*others)
        if len(others) == 1:
            return self.environment.add(
                TwoInputTransformation(
                    id=self.environment.next_id(),
                    inputs=(self.id, others[0].id),
                    name=name or operator.default_name,
                    operator=operator,
                    chaining_strategy=operator.chaining_strategy,
                    state_keys=state_keys,
                    settings=OperatorSettings(expensive=expensive),
                    declared_at=caller_location(),
                )
            )
        return self.environment.add(
            MultipleInputTransformation(
                id=self.environment.next_id(),
                inputs=(self.id, *(other.id for other in others)),
                name=operator.default_name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                settings=OperatorSettings(expensive=expensive),
                declared_at=caller_location(),
            )
        )

    def _partition(
        self,
        partitioner: Partitioner | None,
        *,
        staging_text: str | None = None,
        same_task: bool = False,
        pipelining_text: str | None = None,
        id: int | None = None,
    ) -> DataStream:
        return self.environment.add(
            PartitionTransformation(
                id=self.environment.next_id() if id is None else id,
                inputs=(self.id,),
                partitioner=partitioner,
                exchange_mode=ExchangeMode.PIPELINED if pipelining_text else ExchangeMode.UNDEFINED,
                staging_text=staging_text,
                same_task=same_task,
                pipelining_text=pipelining_text,
                declared_at=caller_location(),
            )
        )

    def _function(
        self,
        function: Callable[..., object],
        method: str,
        arguments: int = 1,
        named: Mapping[str, Argument] | None = None,
    ) -> FunctionRef:
        """Return a reference to a function called with so many arguments, and with keywords unless `named` is None."""
        try:
            reference = FunctionRef.of(function)
        except FunctionNotImportableError as error:
            self.refuse(f"{method} cannot take this function: {error}", allowed=IMPORTABLE, hint=WHERE_TO_MOVE)
        if named is not None:
            declared = self.environment.parameters
            for wrong in argument_problems(function, arguments, named, declared):
                self.refuse(f"{method} {wrong.message}", allowed=wrong.allowed, hint=wrong.hint)
        elif reason := why_not_callable(function, arguments):
            self.refuse(f"{method} {reason}", allowed=f"a function of {counted(arguments, 'argument')}")
        return reference

    def _check_streams(self, *others: Stream) -> None:
        for other in others:
            if not isinstance(other, Stream):
                self.refuse(f"it was given {_words(other)}", allowed="streams of this environment")
            if other.environment is not self.environment:
                self.refuse(
                    f"it was given a stream of another environment, '{other.environment.name}'",
                    hint="ids are unique within one environment: declare both streams in the same one",
                )

    def _gathered(self) -> Stream:
        return self._partition(GlobalPartitioner())

    def _is_broadcast(self) -> bool:
        """Whether these rows are broadcast: partitions are followed upstream, and the nearest partitioner decides."""
        transformation = self.environment.transformation(self.id)
        while isinstance(transformation, PartitionTransformation):
            if transformation.partitioner is not None:
                return transformation.partitioner.is_broadcast
            transformation = self.environment.transformation(transformation.inputs[0])
        return False


def _words(value: object) -> str:
    """Return a description of a value that is not a stream, if it is one of our types."""
    kinds = {
        "DataStreamSink": "a sink, which has no output",
        "WindowedStream": "windowed rows, which need aggregate",
        "ConnectedStreams": "connected streams, which need transform",
    }
    return kinds.get(type(value).__name__, shown(value))
