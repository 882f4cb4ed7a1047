"""Several streams that are inputs of one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NoReturn

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.operators import Transform
from graph_compiler.declaration.parameters.parameter import Argument
from graph_compiler.declaration.refusals.guided import Guided
from graph_compiler.declaration.streams.bound_arguments import bound_arguments
from graph_compiler.declaration.streams.stream import Stream

if TYPE_CHECKING:
    from graph_compiler.declaration.environment import StreamExecutionEnvironment
    from graph_compiler.declaration.streams.data_stream import DataStream


@held_to_signatures
class ConnectedStreams(Guided):
    """The result of `connect`. The streams keep their partitioning."""

    _noun: ClassVar[str] = "the result of connect"
    _for_streams: ClassVar[str] = "call `transform(function)` first: it returns a stream"

    def __init__(self, first: Stream, others: tuple[Stream, ...]) -> None:
        self._first = first
        self._others = others

    @property
    def environment(self) -> StreamExecutionEnvironment:
        """Return the environment of the streams."""
        return self._first.environment

    def refuse(self, message: str, *, allowed: str | None = None, hint: str | None = None) -> NoReturn:
        """Refuse a call."""
        self._first.refuse(message, allowed=allowed, hint=hint)

    def transform(
        self,
        function: Callable[..., object],
        *,
        deterministic: bool = True,
        expensive: bool = False,
        **arguments: Argument,
    ) -> DataStream:
        """Apply an importable function that takes one DataFrame for each stream, in order, and returns one."""
        ref = self._first._function(function, "transform", 1 + len(self._others), arguments)
        operator = Transform(ref, deterministic, arguments=bound_arguments(arguments))
        return self._first._several_inputs(operator, *self._others, expensive=expensive)
