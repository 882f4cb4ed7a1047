"""The fluent API: each call adds one transformation to the environment and returns its stream.

Settings (`name`, `uid`, …) apply to the operator that made the stream, as in PyFlink.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn

from graph_compiler.declaration.call_checks import held_to_signatures
from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.connectors.connector import sink_mode_meant
from graph_compiler.declaration.functions import WHERE_TO_MOVE, FunctionRef, form_of_function, why_not_callable
from graph_compiler.declaration.locations import caller_location
from graph_compiler.declaration.operators import (
    Aggregate,
    AggregateAll,
    ApplyInPandas,
    Deduplicate,
    KeyedProcess,
    Merge,
    Sink,
    TimestampsAndWatermarks,
    WindowAggregate,
)
from graph_compiler.declaration.operators.process_functions import KeyedProcessFunction, declared_states
from graph_compiler.declaration.parameters.parameter import Argument
from graph_compiler.declaration.partitioners import GlobalPartitioner
from graph_compiler.declaration.refusals.guided import Guided
from graph_compiler.declaration.streams.bound_arguments import argument_problems, bound_arguments
from graph_compiler.declaration.streams.contract_methods import ContractMethods
from graph_compiler.declaration.streams.function_methods import FunctionMethods
from graph_compiler.declaration.streams.partitioning_methods import PartitioningMethods
from graph_compiler.declaration.streams.row_methods import RowMethods
from graph_compiler.declaration.streams.settings_methods import HasSettings
from graph_compiler.declaration.transformations import SinkTransformation
from graph_compiler.declaration.windows import Window
from graph_compiler.errors import FunctionNotImportableError
from graph_compiler.identifiers import did_you_mean, listing, quoted, shown

if TYPE_CHECKING:
    from graph_compiler.declaration.environment import StreamExecutionEnvironment

REDUCE_WITH = ("sum", "min", "max", "first", "last", "any_value", "bool_and", "bool_or")
_Columns = Mapping[str, str] | None


class DataStreamSink(HasSettings):
    """The end of a stream."""

    _noun: ClassVar[str] = "a sink"
    _for_streams: ClassVar[str] = "a sink has no output: call it on the stream, before sink_to(…)"


@held_to_signatures
class DataStream(RowMethods, FunctionMethods, ContractMethods, PartitioningMethods):
    """Rows with named columns."""

    def key_by(self, *columns: str) -> KeyedStream:
        """Group rows by `columns`: equal keys go to one partition."""
        if not columns or not all(isinstance(column, str) for column in columns):
            self.refuse(
                f"key_by was given {listing(map(shown, columns))}", allowed='names of columns: key_by("a", "b")'
            )
        return KeyedStream(self.environment, self._hashed(columns).id, columns)

    def aggregate(self, aggregates: _Columns = None, /, **expressions: str) -> DataStream:
        """Return one row for all rows: `aggregate(flights="count(*)")`; one per key after `key_by`."""
        return self._one_input(AggregateAll((*(aggregates or {}).items(), *expressions.items())))

    def assign_timestamps_and_watermarks(self, time: str, *, max_out_of_orderness: str) -> DataStream:
        """Let `time` be the event time of rows, which come out of order by `max_out_of_orderness` at most.

        On a stream, a row that is later than that is left out of its window; a batch has all its rows.
        """
        operator = TimestampsAndWatermarks(time, max_out_of_orderness)
        return self._one_input(operator, inherits_parallelism=True)

    def window_all(self, window: Window) -> WindowedStream:
        """Group all rows by windows of event time."""
        return WindowedStream(self._partition(GlobalPartitioner()), (), window)

    def deduplicate(self, *keys: str, order_by: str | Sequence[str] = ()) -> DataStream:
        """Keep one row for each key, the first by `order_by`: `deduplicate("user", order_by="seen DESC")`.

        Without keys, rows that are equal in all columns become one. Without an order, any row of a key is kept, which
        may be a different one each time. On a stream, it needs a watermark (docs/streaming.md).
        """
        order = (order_by,) if isinstance(order_by, str) else tuple(order_by)
        return self._hashed(keys)._one_input(Deduplicate(keys, order), state_keys=keys)

    def sink_to(  # noqa: PLR0913  # each by its keyword
        self,
        sink: Connector,
        *,
        mode: Literal["append", "overwrite", "overwrite-partitions", "error-if-exists", "merge"] = "overwrite",
        keys: str | Sequence[str] = (),
        partition_by: str | Sequence[str] = (),
        files: int | None = None,
        partitions: Mapping[str, str | int | float | bool | None] | None = None,
        single_file: bool | None = None,
        merge: Merge | None = None,
    ) -> DataStreamSink:
        """Write the rows, once the whole task has succeeded; `SinkMode` decides what happens to existing rows.

        `merge` replaces rows by their `keys`, or, in tables of Iceberg and Delta, does what `merge=Merge(…)` says.
        Columns of `partition_by` become folders; `files` is the number of files (see `Sink`). `partitions={"day":
        "{{ ds }}"}` are those that the run is responsible for: without rows they are empty afterwards, and rows of
        others fail the task. They need `overwrite-partitions`. With `single_file=True` the path of `Csv`, `Json` or
        `Text` is that of one file; False is a folder, whatever its name looks like.
        """
        if mode not in set(SinkMode):
            self.refuse(f"there is no sink mode '{mode}'", allowed=listing(SinkMode), hint=sink_mode_meant(mode))
        folders = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        names = (keys,) if isinstance(keys, str) else tuple(keys)
        values = tuple((column, _folder_text(value)) for column, value in (partitions or {}).items())
        operator = Sink(
            sink,
            mode=SinkMode(mode),
            keys=names,
            partition_by=folders,
            files=files,
            partitions=values,
            single_file=single_file,
            merge=merge,
        )
        id = self.environment.next_id()
        self.environment.add(
            SinkTransformation(
                id=id,
                inputs=(self.id,),
                name=operator.default_name,
                operator=operator,
                chaining_strategy=operator.chaining_strategy,
                declared_at=caller_location(),
            )
        )
        return DataStreamSink(self.environment, id)


def _folder_text(value: str | int | float | bool | None) -> str | None:
    """Return a value as text that its column's type is read from."""
    return str(value).lower() if isinstance(value, bool) else None if value is None else str(value)


@held_to_signatures
class KeyedStream(DataStream):
    """Rows grouped by key; functions applied here get all rows of a key in one partition."""

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        id: int,
        keys: tuple[str, ...],
        grouping_sets: tuple[tuple[str, ...], ...] | None = None,
    ) -> None:
        super().__init__(environment, id)
        self._keys = keys
        self._grouping_sets = grouping_sets

    def aggregate(self, aggregates: _Columns = None, /, **expressions: str) -> DataStream:
        """Return one row for each key: `aggregate(flights="count(*)", mean_delay="avg(arr_delay)")`."""
        columns = (*(aggregates or {}).items(), *expressions.items())
        operator = Aggregate(self._keys, columns, self._grouping_sets)
        return self._one_input(operator, state_keys=self._keys)

    def reduce(self, columns: _Columns = None, /, **functions: str) -> DataStream:
        """Combine the rows of a key into one row with the same columns: `reduce(amount="sum", day="max")`."""
        given = {**(columns or {}), **functions}
        if odd := [name for name in given.values() if name not in REDUCE_WITH]:
            self.refuse(
                f"reduce was given {listing(odd)}",
                allowed=listing(REDUCE_WITH),
                hint=f"{did_you_mean(odd[0], REDUCE_WITH) or ''} aggregate(…) takes any expression".strip(),
            )
        aggregates = tuple((name, f"{function}({quoted(name)})") for name, function in given.items())
        operator = Aggregate(self._keys, aggregates)
        return self._one_input(operator, state_keys=self._keys, name="Reduce")

    def grouping_sets(self, *sets: str | Sequence[str]) -> KeyedStream:
        """Aggregate by each of several sets of the keys: `grouping_sets(("a", "b"), ("a",), ())`."""
        chosen = tuple((keys,) if isinstance(keys, str) else tuple(keys) for keys in sets)
        return KeyedStream(self.environment, self.id, self._keys, chosen)

    def rollup(self) -> KeyedStream:
        """Aggregate by all keys, by all but the last, and so on, and over all rows."""
        return self.grouping_sets(*(self._keys[:length] for length in range(len(self._keys), -1, -1)))

    def cube(self) -> KeyedStream:
        """Aggregate by every set of the keys."""
        lengths = range(len(self._keys), -1, -1)
        return self.grouping_sets(*(keys for length in lengths for keys in combinations(self._keys, length)))

    def window(self, window: Window) -> WindowedStream:
        """Group the rows of a key by windows of event time."""
        return WindowedStream(self, self._keys, window)

    def apply_in_pandas(
        self,
        function: Callable[..., object],
        schema: str,
        *,
        deterministic: bool = True,
        expensive: bool = False,
        **arguments: Argument,
    ) -> DataStream:
        """Apply a function from the `pandas.DataFrame` of one key to another; `schema` is Spark DDL of the latter."""
        ref = self._function(function, "apply_in_pandas", named=arguments)
        bound = bound_arguments(arguments)
        operator = ApplyInPandas(ref, deterministic, self._keys, schema, arguments=bound)
        return self._one_input(operator, state_keys=self._keys, expensive=expensive)

    def process(  # type: ignore[override]  # its keywords are those of classes
        self,
        function: Callable[..., object],
        schema: str | None = None,
        *,
        time: str | None = None,
        outputs: tuple[str, ...] = (),
        deterministic: bool = True,
        expensive: bool = False,
        **arguments: Argument,
    ) -> DataStream:
        """Apply a class with state to the rows of each key, with `schema`; or a function of DataFrames, with `outputs`.

        `process(Visits, "user STRING, n INT", time="at")`: the class extends `KeyedProcessFunction`, and `schema` is
        the Spark DDL of its output. `time` is the event time: rows of a key come in its order, and timers are by it.
        Other keywords are passed to the constructor of the class.
        """
        if not isinstance(function, type):
            if schema is not None or time is not None:
                self.refuse(
                    f"process was given {shown(function)} with a schema or a time",
                    allowed="these with a class that extends KeyedProcessFunction; outputs=… with a function",
                )
            return super().process(
                function, outputs=outputs, deterministic=deterministic, expensive=expensive, **arguments
            )
        if outputs or schema is None:
            self.refuse(
                f"process was given the class {function.__name__} {'with outputs' if outputs else 'without a schema'}",
                allowed='process(Class, schema="user STRING, n BIGINT")',
                hint="a column of its rows can say which output they are for: filter(…) behind it" if outputs else None,
            )
        ref = self._process_function(function, time, arguments)
        states = declared_states(function)
        bound = bound_arguments(arguments)
        operator = KeyedProcess(ref, deterministic, self._keys, schema, time, states, arguments=bound)
        return self._one_input(operator, state_keys=self._keys, expensive=expensive)

    def _process_function(self, kind: type, time: str | None, arguments: Mapping[str, Argument]) -> FunctionRef:
        """Return a reference to a class that `process` can call."""
        name = kind.__name__
        if not issubclass(kind, KeyedProcessFunction):
            self.refuse(f"process was given the class {name}", allowed="a class that extends KeyedProcessFunction")
        if kind.process_element is KeyedProcessFunction.process_element:
            self.refuse(f"the class {name} has no process_element", allowed="process_element(self, value, ctx)")
        for method in (kind.process_element, kind.on_timer):
            if why_not_callable(method, 3):
                takes = "value" if method is kind.process_element else "timestamp"
                self.refuse(
                    f"the class {name} has {form_of_function(method)}", allowed=f"{method.__name__}(self, {takes}, ctx)"
                )
        if time is None and kind.on_timer is not KeyedProcessFunction.on_timer:
            self.refuse(
                f"the class {name} has on_timer, and process was given no time",
                allowed='the column of the event time: process(…, time="at")',
            )
        try:
            ref = FunctionRef.of_class(kind)
        except FunctionNotImportableError as error:
            words = "a class at the top level of an importable module"
            self.refuse(f"process cannot take this class: {error}", allowed=words, hint=WHERE_TO_MOVE)
        for wrong in argument_problems(kind, 0, arguments, self.environment.parameters):
            self.refuse(f"process {wrong.message}", allowed=wrong.allowed, hint=wrong.hint)
        return ref


@held_to_signatures
class WindowedStream(Guided):
    """Rows in windows, to be aggregated."""

    _noun: ClassVar[str] = "the result of window"
    _for_streams: ClassVar[str] = 'call `aggregate(n="count(*)")` first: it returns a stream'

    def __init__(self, stream: DataStream, keys: tuple[str, ...], window: Window, late_data: str | None = None) -> None:
        self._stream = stream
        self._keys = keys
        self._window = window
        self._late_data = late_data

    @property
    def environment(self) -> StreamExecutionEnvironment:
        """Return the environment of the rows."""
        return self._stream.environment

    def refuse(self, message: str, *, allowed: str | None = None, hint: str | None = None) -> NoReturn:
        """Refuse a call."""
        self._stream.refuse(message, allowed=allowed, hint=hint)

    def side_output_late_data(self, tag: str) -> WindowedStream:
        """Keep rows of a stream that come after their windows were complete: `get_side_output(tag)` of the result."""
        if not tag.strip():
            self.refuse("side_output_late_data was given no tag", allowed='the tag of a side output: "late"')
        return WindowedStream(self._stream, self._keys, self._window, tag)

    def aggregate(self, aggregates: _Columns = None, /, **expressions: str) -> DataStream:
        """Return one row for each key and window: the keys, `window_start`, `window_end`, then the aggregates."""
        columns = (*(aggregates or {}).items(), *expressions.items())
        operator = WindowAggregate(self._keys, self._window, columns, late_data=self._late_data)
        return self._stream._one_input(operator, state_keys=self._keys)
