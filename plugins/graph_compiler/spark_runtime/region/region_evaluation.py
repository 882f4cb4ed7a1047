"""The operators of a region as DataFrames, each made from its inputs; only rows that must be fixed are computed.

The caller decides where rows come from and where fixed rows go: a run uses staging, a dry run does not.

    evaluate  ─▶  put the run's time into the plan  ─▶  why may its rows vary?  ─▶  fix them if two readers could differ
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter

from pyspark.sql import Column, DataFrame, SparkSession

from graph_compiler import program_log
from graph_compiler.declaration.connectors import Connector, FileConnector
from graph_compiler.declaration.operators import Cache, FunctionOperator, Iterate, PreviousVersion, Source, Sql
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.documents.descriptor import (
    InputDescriptor,
    OperatorDescriptor,
    RegionDescriptor,
    SharedResult,
    StagedInput,
)
from graph_compiler.deployment.documents.report import OperatorSchema, SourceFiles, UncomparedRead
from graph_compiler.errors import PublicationError, RepeatedReadError, SourceChangedError
from graph_compiler.identifiers import IntermediateDataSetId, quoted
from graph_compiler.spark_runtime.columns.column_types import check_columns, check_names
from graph_compiler.spark_runtime.connectors.databases.snapshots import Pin, as_it_is, decided_by_spark
from graph_compiler.spark_runtime.exchange.distribution import (
    distribute_all,
    partitions_read,
    rows_in_order,
    with_exactly,
)
from graph_compiler.spark_runtime.failures.failures import InputSchema, OperatorFailedError
from graph_compiler.spark_runtime.operators import ColumnsError, Scope, evaluate, evaluate_outputs, union
from graph_compiler.spark_runtime.operators.contracts import Contract
from graph_compiler.spark_runtime.operators.decisions import compares_equal_keys, fix_columns
from graph_compiler.spark_runtime.region.previous_version import read_target
from graph_compiler.spark_runtime.region.region_graph import OperatorGraph, Output
from graph_compiler.spark_runtime.repeatability.source_files import ListedFiles, OwnReads, SharedListings
from graph_compiler.spark_runtime.repeatability.variations import Judgement, Variation, Variations, queries_differ
from graph_compiler.spark_runtime.spark_internals.exact_schemas import file_named_over_ours
from graph_compiler.spark_runtime.spark_internals.java import Py4JError
from graph_compiler.spark_runtime.spark_internals.plan_leaves import read_again

LOG = program_log.logger(__name__)

_NAMES_ARE_PATTERNS = "spark.sql.parser.quotedRegexColumnNames"

ReadSource = Callable[[Connector, int | None], DataFrame]
"""Reads a source, in as many splits as its parallelism if that is set."""
ReadPrevious = Callable[[OperatorDescriptor, int | None], DataFrame]
"""Reads the previous version of a target."""
ReadStaged = Callable[[StagedInput, int | None], DataFrame]
"""Reads a staged result, in a number of partitions or None."""
Fix = Callable[[OperatorDescriptor, str, DataFrame, int | None], DataFrame]
"""Makes all reads of an operator's rows equal; takes a name, the rows, and the number of partitions to keep."""
StopClock = Callable[[OperatorDescriptor, DataFrame], DataFrame]
"""Replaces the current time in an operator's rows by that of the run."""


def unpinned(_operator: OperatorDescriptor, connector: Connector) -> Connector:
    """Return a source unchanged: it reads all that is there, or its rows are given."""
    return connector


@dataclass(slots=True, kw_only=True)
class RegionEvaluation:
    """The outputs of a region's operators so far.

    `mark` receives every output. `observed` are outputs that others may read repeatedly. `variations` has the reasons
    why recomputing an output may change it. `pin` makes all reads of a source see the same rows. Without
    `read_previous`, the previous version of a target is what is there.
    """

    region: RegionDescriptor
    spark: SparkSession
    parameters: Mapping[str, ParameterValue]
    read_source: ReadSource
    read_staged: ReadStaged
    materialize: Fix
    stop_clock: StopClock
    contracts: list[Contract]
    read_previous: ReadPrevious | None = None
    on_output: Callable[[DataFrame, Output], None] = lambda _rows, _output: None
    observed: Set[Output] = frozenset()
    pin: Pin = as_it_is
    increment: Callable[[OperatorDescriptor, Connector], Connector] = unpinned
    """Returns a source that reads only what is new as its run reads it; others unchanged."""
    is_dry: bool = False
    passed: Column | None = None
    """The time that the watermark of a stream has passed."""
    whole: Set[int] = frozenset()
    """Operators of a stream whose state must not depend on what reads them."""
    outputs: dict[Output, DataFrame] = field(default_factory=dict)
    variations: Variations = field(default_factory=Variations)
    listings: list[tuple[OperatorDescriptor, ListedFiles]] = field(default_factory=list)
    settled_listings: list[tuple[OperatorDescriptor, ListedFiles]] = field(default_factory=list)
    uncompared: dict[UncomparedRead, None] = field(default_factory=dict)
    graph: OperatorGraph = field(init=False)
    _readers: Counter[Output] = field(init=False)
    _results: frozenset[Output] = field(init=False)
    _apart: frozenset[int] = field(init=False)
    """Contracts that jobs of their own count."""
    _shared_listings: SharedListings = field(default_factory=SharedListings)
    _compared: set[Output] = field(default_factory=set)
    """Outputs that a condition of a reader could change: Spark would move it below a comparison of equal keys."""
    _staged: dict[tuple[IntermediateDataSetId, int | None], DataFrame] = field(default_factory=dict)
    _cached: list[DataFrame] = field(default_factory=list)
    _whole: dict[Output, DataFrame] = field(default_factory=dict)
    """Outputs of which only some columns were staged for their readers."""

    def __post_init__(self) -> None:
        self.graph = OperatorGraph.of(self.region)
        self._results = frozenset((result.node_id, result.output_tag) for result in self.region.results)
        self._apart = self.graph.counted_apart(self._results)
        edges = [edge for operator in self.graph.operators.values() for edge in operator.inputs]
        read = [(edge.node_id, edge.output_tag) for edge in edges if edge.staged is None]
        self._readers = Counter([*read, *self._results, *self.observed, *self.observed])

    def is_shared(self, output: Output) -> bool:
        """Whether an output has several readers; staging it counts as one."""
        return self._readers[output] > 1

    def inputs(self, operator: OperatorDescriptor) -> dict[int, list[DataFrame]]:
        """Return an operator's inputs by number, distributed as its edges declare."""
        found: dict[int, list[DataFrame]] = {}
        number_of = attrgetter("type_number")
        for number, edges in groupby(sorted(operator.inputs, key=number_of), key=number_of):
            streams = [(edge, self._rows(edge, partitions_read(edge, operator))) for edge in edges]
            found[number] = distribute_all(streams, operator, self.parameters)
        return found

    def rows_into(self, sink: OperatorDescriptor) -> DataFrame:
        """Return the rows that a sink will write."""
        if sink.order_by:
            (edge,) = sink.inputs
            return rows_in_order(self._rows(edge, None), sink, self.parameters)
        ((_, streams),) = self.inputs(sink).items()
        return with_exactly(union(streams), sink.settings.parallelism)

    def schemas(self, operator: OperatorDescriptor) -> tuple[InputSchema, ...]:
        """Return the schemas of an operator's inputs, as far as they are known."""
        known = [(edge, self._known_rows(edge)) for edge in operator.inputs]
        return tuple(
            InputSchema(producer=self.graph.name(edge), schema=rows.schema) for edge, rows in known if rows is not None
        )

    def run(self, operator: OperatorDescriptor) -> None:
        """Evaluate an operator with its side outputs; inputs that may differ between several reads are fixed first."""
        inputs, sources = self.inputs(operator), self._reads_from(operator)
        given = [self._rows(edge, partitions_read(edge, operator)) for edge in operator.inputs]
        judged: list[Judgement] = []

        def judge(rows: DataFrame) -> DataFrame:
            """Return rows that read what was listed first, and remember what is known about them."""
            judgement = Judgement.of(operator, rows, given)
            rows, reads = self._shared_listings.pin(rows, judgement.reads)
            self._note(operator, reads)
            judged.append(replace(judgement, reads=reads))
            return rows

        def materialize(name: str, rows: DataFrame) -> DataFrame:
            rows = judge(self.stop_clock(operator, rows))
            given.append(self.materialize(operator, name, rows, None))
            self._settle_reads(operator, judged[-1].reads)
            return given[-1]

        scope = Scope(
            spark=self.spark,
            parameters=self.parameters,
            parallelism=operator.settings.parallelism,
            read=lambda connector, splits: self._read(operator, connector, splits),
            materialize=materialize,
            varies=lambda rows: queries_differ(operator, rows, given),
            stop_clock=lambda rows: self.stop_clock(operator, rows),
            contracts=self.contracts,
            is_dry=self.is_dry,
            counts_apart=operator.node_id in self._apart,
            inputs_vary=bool(self.variations.of(sources)),
            passed=self.passed,
        )
        outputs, inherited = self._evaluated(operator, inputs, given, scope)
        if isinstance(operator.operator, Cache):
            self._cached += outputs.values()
        fixed = [each.variation for each in judged if each.variation is not None]
        judged.clear()
        exact: dict[str | None, DataFrame] = {}
        for tag, rows in outputs.items():
            _refuse_names_of_our_files(rows)
            made = with_exactly(self.stop_clock(operator, rows), operator.settings.parallelism)
            exact[tag] = judge(made)
        self._refuse_several_reads(operator, dict(zip(exact, judged, strict=True)))
        for (tag, rows), judgement in zip(exact.items(), judged, strict=True):
            output = (operator.node_id, tag)
            self.variations.note(output, sources, inherited, judgement.variation, fixed)
            if not self._compared.isdisjoint(sources) or compares_equal_keys(rows):
                self._compared.add(output)
            self._keep(operator, tag, rows)

    @contextmanager
    def forgetting_cached(self) -> Iterator[None]:
        """Let go of what operators have cached when the block ends.

        For Spark, other files of the same path are the same plan: a later region of the session would get old rows.
        """
        try:
            yield
        finally:
            with suppress(Py4JError):  # without a JVM there is no cache
                for rows in self._cached:
                    rows.unpersist()

    def _evaluated(
        self, operator: OperatorDescriptor, inputs: dict[int, list[DataFrame]], given: list[DataFrame], scope: Scope
    ) -> tuple[dict[str | None, DataFrame], tuple[Variation, ...]]:
        """Return an operator's outputs, and why what it reads may vary; varying inputs that it reads again are fixed.

        What a query or a function has read several times shows its plan: it is evaluated once more then.
        """
        splits = any(self._readers[operator.node_id, tag] for tag in operator.operator.output_tags())
        varying = {number for number in inputs if self.variations.of(self._reads_from(operator, number))}
        again = {*varying} if self._reads_again(operator, given, splits=splits) else set[int]()
        outputs = {} if again else _outputs(operator, inputs, scope, splits=splits)
        again = again or (varying & _read_again(operator, outputs, inputs) if varying and not self.is_dry else set())
        if again:
            (why, *_) = self.variations.of(self._reads_from(operator, *again))
            self._log(operator, "its inputs are staged once, since it reads them several times", why)
            fixed = {number: [scope.materialize(f"input-{number}", union(inputs[number]))] for number in sorted(again)}
            inputs = inputs | fixed
            given[:] = [rows for each in inputs.values() for rows in each]  # only it reads what they have read
            varying -= again
            outputs = _outputs(operator, inputs, replace(scope, inputs_vary=bool(varying)), splits=splits)
        return outputs, self.variations.of(self._reads_from(operator, *varying)) if varying else ()

    def _reads_again(self, operator: OperatorDescriptor, given: Iterable[DataFrame], *, splits: bool) -> bool:
        """Whether an operator reads its inputs several times, as it is declared: an iteration does in each round."""
        if splits or (operator.node_id in self._apart and self._readers[operator.node_id, None] > 0):
            return True
        return isinstance(operator.operator, Iterate) and not any(rows.isStreaming for rows in given)

    def _refuse_several_reads(self, operator: OperatorDescriptor, judged: Mapping[str | None, Judgement]) -> None:
        """Raise RepeatedReadError if several outputs of an operator read what may change in between."""
        changing = [
            each.reads.changing[0]
            for tag, each in judged.items()
            if each.reads.changing and self._readers[operator.node_id, tag]
        ]
        if len(changing) > 1 and not isinstance(operator.operator, Source):
            raise RepeatedReadError(
                f"{len(changing)} of its outputs read {changing[0]}, which may change in between: a row would be in "
                "several of them, or in none\n"
                "  allowed: inputs of the operator, and files that Spark lists once\n"
                "  hint: read it as a source, and join it with the input before: the joined rows are staged once for "
                "all outputs"
            )

    def _settle_reads(self, operator: OperatorDescriptor, reads: OwnReads) -> None:
        """Let files change that rows have been staged from: each round of a loop may write them again.

        Raises OperatorFailedError, with a SourceChangedError, if they have changed before.
        """
        settled = {(operator.node_id, listing.state) for listing in reads.listings}
        noted, self.listings = self.listings, []
        for one, listing in noted:
            is_settled = (one.node_id, listing.state) in settled
            if is_settled:
                self._check(one, listing)
            (self.settled_listings if is_settled else self.listings).append((one, listing))
        self._shared_listings.release(reads)

    def _note(self, operator: OperatorDescriptor, reads: OwnReads) -> None:
        """Remember what an operator reads by itself; each listing once, also if several of its outputs read it."""
        known = {(one.node_id, listing.state) for one, listing in self.listings}
        for listing in reads.listings:
            if (operator.node_id, listing.state) not in known:
                self.listings.append((operator, listing))
        for what in reads.uncompared:
            self.uncompared[UncomparedRead(operator=operator.name, what=what)] = None

    def _read(self, operator: OperatorDescriptor, connector: Connector, splits: int | None) -> DataFrame:
        """Read a source so that all its readers see the same rows, and decide them alike."""
        if isinstance(operator.operator, PreviousVersion):  # its region stages it, and that is its only reader
            if self.read_previous is not None:
                return self.read_previous(operator, splits)
            return read_target(connector, self.spark, splits)
        connector = self.increment(operator, connector)
        times = self.graph.times_read(operator.node_id, self._results, self._apart)
        if times > 1:
            connector = decided_by_spark(connector)
        return self.read_source(self.pin(connector, times, splits), splits)

    def varies(self, output: Output) -> bool:
        """Whether another execution may compute different rows, even if they are fixed in this one."""
        return self.variations.ever(output)

    def is_repeatable(self, output: Output) -> bool:
        """Whether recomputing an output gives the same rows, as far as Spark and the declaration show."""
        return self.variations.why_two_readers_differ(output) is None

    def replace_by_staged(self, output: Output, rows: DataFrame) -> None:
        """Let all readers of an output here read its committed copy: the same result for every reader (decision 9)."""
        self.outputs[output] = rows
        self._settle(output)

    def check_sources(self) -> None:
        """Raise OperatorFailedError, with a SourceChangedError, if a source has changed since it was listed."""
        for operator, listing in self.listings:
            self._check(operator, listing)

    def _check(self, operator: OperatorDescriptor, listing: ListedFiles) -> None:
        try:
            listing.check()
        except SourceChangedError as cause:
            raise OperatorFailedError((operator,), self.schemas, writes=False) from cause

    def source_files(self) -> tuple[SourceFiles, ...]:
        """Return what the operators have listed, as far as Spark shows it."""
        read = [*self.settled_listings, *self.listings]
        return tuple(_described(operator, listing) for operator, listing in read)

    def source_schemas(self) -> tuple[OperatorSchema, ...]:
        """Return the schemas of the sources that were evaluated."""
        return tuple(
            schema_of(operator, self.outputs[operator.node_id, None])
            for operator in self.graph.operators.values()
            if isinstance(operator.operator, Source)
        )

    def _keep(self, operator: OperatorDescriptor, tag: str | None, rows: DataFrame) -> None:
        """Keep an output for its readers; it is fixed first if several readers could see different rows.

        They could if other rows may be computed each time, or if their conditions change what is grouped or joined.
        """
        output = (operator.node_id, tag)
        reason = self.variations.why_two_readers_differ(output)
        if reason is not None and self.is_shared(output) and output not in self._results:
            self._log(operator, f"staged once for its {self._readers[output]} readers", reason)
            rows = self.materialize(operator, f"shared-{tag or 'main'}", rows, operator.settings.parallelism)
            self._settle(output)
        elif (columns := self._columns_to_share(operator, output, rows)) is not None:
            LOG.info("%s: computed once for its %d readers", operator.name, self._readers[output])
            self._whole[output] = rows
            rows = self.materialize(operator, "shared-main", columns, operator.settings.parallelism)
            self._settle(output)
        elif self._is_fixed(output):
            rows = fix_columns(rows)
            self._compared.discard(output)
        self.outputs[output] = rows
        self.on_output(rows, output)

    def _is_fixed(self, output: Output) -> bool:
        """Whether no reader may move a condition below an output; for a state, nor leave out its columns."""
        if output in self._compared and self.is_shared(output) and output not in self._results:
            return True
        return output[0] in self.whole and output[1] is None

    def _columns_to_share(self, operator: OperatorDescriptor, output: Output, rows: DataFrame) -> DataFrame | None:
        """Return the columns that several reports read, to be staged once for them; None if each computes them."""
        shared = next((each for each in self.region.computed_once if each.node_id == operator.node_id), None)
        if shared is None or self.is_dry or self._readers[output] != shared.readers:  # others read all columns
            return None
        columns = _only_columns(rows, shared)
        return columns if columns is not None and self._can_be_read(operator, columns) else None

    def _can_be_read(self, operator: OperatorDescriptor, columns: DataFrame) -> bool:
        """Whether all readers can be analysed; one that cannot fails by itself, before any row is computed."""
        scope = Scope(
            spark=self.spark,
            parameters=self.parameters,
            parallelism=None,
            read=self.read_source,
            materialize=lambda _name, rows: rows,
            stop_clock=lambda rows: rows,
            contracts=[],
            is_dry=True,
        )
        try:
            for reader in self.graph.operators.values():
                for edge in reader.inputs:
                    if edge.node_id == operator.node_id and edge.staged is None:
                        evaluate(reader.operator, {edge.type_number: [columns]}, scope)
        except Exception as error:  # of any kind: it comes again where the reader is evaluated
            LOG.debug("%s: a reader cannot be analysed: %s", operator.name, error)
            return False
        return True

    def _settle(self, output: Output) -> None:
        """Record that an output's rows are read, not computed."""
        self.variations.settle(output)
        self._compared.discard(output)

    def _log(self, operator: OperatorDescriptor, what: str, reason: Variation) -> None:
        if not self.is_dry:
            LOG.info("%s: %s, because %s", operator.name, what, reason)

    def _reads_from(self, operator: OperatorDescriptor, *numbers: int) -> frozenset[Output]:
        """Return the outputs of this region that an operator reads, as some of its inputs or as any."""
        edges = (edge for edge in operator.inputs if not numbers or edge.type_number in numbers)
        read = (edge for edge in edges if edge.staged is None)
        return frozenset((edge.node_id, edge.output_tag) for edge in read)

    def _rows(self, edge: InputDescriptor, partitions: int | None) -> DataFrame:
        if edge.staged is None:
            return self.outputs[edge.node_id, edge.output_tag]
        key = (edge.staged.id, partitions)
        if key not in self._staged:
            self._staged[key] = self.read_staged(edge.staged, partitions)
        return self._staged[key]

    def all_columns(self, output: Output) -> DataFrame | None:
        """Return an output as its operator makes it, also where its readers have only some columns; None before."""
        return self._whole.get(output, self.outputs.get(output))

    def _known_rows(self, edge: InputDescriptor) -> DataFrame | None:
        if edge.staged is None:
            return self.all_columns((edge.node_id, edge.output_tag))
        return next((rows for (id, _), rows in self._staged.items() if id == edge.staged.id), None)


def _outputs(
    operator: OperatorDescriptor, inputs: Mapping[int, list[DataFrame]], scope: Scope, *, splits: bool
) -> dict[str | None, DataFrame]:
    if splits:
        return evaluate_outputs(operator.operator, inputs, scope)
    return {None: evaluate(operator.operator, inputs, scope)}


def _refuse_names_of_our_files(rows: DataFrame) -> None:
    """Raise ColumnsError if an expression would name a staged file: which rows are staged must not show in rows."""
    if name := file_named_over_ours(rows):
        raise ColumnsError(
            f"its {name}() would name a file of the staging root: rows that it reads are staged before",
            f'make it a column in the only operator that reads the source: source.with_columns(file="{name}()")',
        )


def _read_again(
    operator: OperatorDescriptor, outputs: Mapping[str | None, DataFrame], inputs: Mapping[int, list[DataFrame]]
) -> Set[int]:
    """Return the inputs that a query or a function has put into its result several times: joined with its own total.

    Of a stream, the offsets of a batch say what it has.
    """
    is_any = isinstance(operator.operator, FunctionOperator | Sql)
    if not is_any or any(rows.isStreaming for rows in outputs.values()):
        return frozenset()
    united = {number: union(rows) for number, rows in inputs.items()}
    return {number for rows in outputs.values() for number in read_again(rows, united)}


def _only_columns(rows: DataFrame, shared: SharedResult) -> DataFrame | None:
    """Return the columns that readers may name; None if they cannot be staged, or names are patterns."""
    if rows.sparkSession.conf.get(_NAMES_ARE_PATTERNS, "false") != "false" or not rows.columns:
        return None
    try:
        check_names(rows.schema)
        found = rows.select(*map(quoted, shared.columns(rows.columns)))
        check_columns(found.schema, "parquet", ())
    except PublicationError as error:
        LOG.info("rows are computed for each of %d readers: %s", shared.readers, error)
        return None
    return found


def _described(operator: OperatorDescriptor, listing: ListedFiles) -> SourceFiles:
    """Return a listing as it is recorded: of single files that are new, only the path that they are below."""
    found, source = listing.described(operator.name), operator.operator
    if isinstance(source, Source) and source.has_position and isinstance(source.connector, FileConnector):
        return replace(found, paths=source.connector.paths)
    return found


def schema_of(operator: OperatorDescriptor, rows: DataFrame) -> OperatorSchema:
    """Return the columns that an operator reads or writes."""
    return OperatorSchema(operator_id=operator.operator_id, schema=rows.schema.json())
