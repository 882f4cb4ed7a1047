"""Rows of a format of Spark that never end.

Spark logs up to which offset a batch reads, and only the format knows which rows are before it. So what determines them
is noted when a stream begins, and compared when it continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import FunctionSource, Rate
from graph_compiler.declaration.resources.application import secret_in_plain_text
from graph_compiler.deployment.documents.stream import SourceFacts
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import SourceChangedError
from graph_compiler.identifiers import counted, listing
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    BEGIN_AGAIN,
    SOURCE,
    ArrivingSource,
    SourceLog,
    arriving_source,
)
from graph_compiler.spark_runtime.connectors.source import Found, as_declared
from graph_compiler.spark_runtime.driver_process import call_function
from graph_compiler.spark_runtime.spark_internals.plan_leaves import StreamLeaf, steps_above, stream_leaves
from graph_compiler.staging.store.read_document import get_document

_STEPS = frozenset({"Filter", "Project", "SubqueryAlias"})
"""What a function may do with the rows of its stream: these see single rows."""
_RATE = "rate-micro-batch"


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRows(ArrivingSource):
    """The rows of one source, in one execution. `facts` determine which rows are before an offset.

    `options` have the values of secrets, `facts` have none.
    """

    spark: SparkSession
    name: str
    format: str
    options: Mapping[str, str] = field(repr=False)
    facts: Mapping[str, str]

    def read(self) -> DataFrame:
        """Return the rows that arrive."""
        return self.spark.readStream.format(self.format).options(**self.options, **{SOURCE: self.name}).load()

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise SourceChangedError if the stream has begun with other facts."""
        check_facts(self.facts, log, last)


def check_facts(facts: Mapping[str, str], log: SourceLog, last: str | None) -> None:
    """Note what determines the rows before an offset; raises SourceChangedError if the stream has begun with others.

    One that has begun with a savepoint has those of its first execution: a person has started it.
    """
    noted = get_document(log.store, log.record, SourceFacts)
    if last is not None and (noted is None or noted.stream_id == log.stream_id):
        _compare({} if noted is None else dict(noted.facts), facts)
        return
    new = SourceFacts(stream_id=log.stream_id, facts=tuple(sorted(facts.items())))
    log.store.put(log.record, to_json(new).encode())


def _compare(begun: Mapping[str, str], now: Mapping[str, str]) -> None:
    changed = [name for name in sorted({*begun, *now}) if begun.get(name) != now.get(name)]
    if not changed:
        return
    first = changed[0]
    was, is_now = (facts.get(first, "not there") for facts in (begun, now))
    others = f", and {counted(len(changed) - 1, 'other setting')} differ" if changed[1:] else ""
    raise SourceChangedError(
        f"its {first} is {is_now}, and was {was} when the stream began{others}: its offsets could be "
        "those of other rows\n"
        f"  allowed: {first} as it was\n"
        f"  hint: a pipeline that starts from a savepoint of the stream continues with its offsets; {BEGIN_AGAIN}"
    )


@dataclass(slots=True, kw_only=True)
class FunctionRows(ArrivingSource):
    """The rows of a stream that a function returns, of whatever format."""

    connector: FunctionSource
    spark: SparkSession
    name: str
    _leaf: StreamLeaf | None = None

    @property
    def leaf(self) -> StreamLeaf | None:
        """What the function reads."""
        return self._leaf

    def read(self) -> DataFrame:
        """Return the rows that arrive; raises TypeError if the function returns something else."""
        rows = call_function(self.connector.function.load(), self.spark)
        if not isinstance(rows, DataFrame) or not rows.isStreaming:
            what = "the rows of a batch" if isinstance(rows, DataFrame) else f"a {type(rows).__name__}"
            raise TypeError(
                f"{self.connector.function} returned {what}, and its source never ends\n"
                "  allowed: a DataFrame of spark.readStream"
            )
        leaves, others = stream_leaves(rows), steps_above(rows) - _STEPS
        if len(leaves) != 1 or others:
            found = listing(sorted(others)) if others else f"{len(leaves)} streams"
            raise TypeError(
                f"{self.connector.function} returned more than the rows of one stream: {found}\n"
                "  allowed: spark.readStream.format(…).load(), its columns, and a filter\n"
                "  hint: what keeps state is an operator behind the source, so that its state is known by its uid"
            )
        self._leaf = leaves[0]
        return as_declared(self.connector, Found(rows=rows, schema=rows.schema))

    def check_start(self, log: SourceLog, last: str | None) -> None:
        """Raise SourceChangedError if the function reads another format, or has other options.

        Options are noted as digests, those that may be secrets not at all.
        """
        assert self._leaf is not None, "it was read"
        noted = {
            f"option '{name}'": sha256(value.encode()).hexdigest()[:16]
            for name, value in self._leaf.options.items()
            if secret_in_plain_text(name, name, value) is None
        }
        check_facts({"format": self._leaf.format, **noted}, log, last)


@arriving_source.register
def _(connector: FunctionSource, spark: SparkSession, name: str) -> ArrivingSource:
    return FunctionRows(connector=connector, spark=spark, name=name)


@arriving_source.register
def _(connector: Rate, spark: SparkSession, name: str) -> ArrivingSource:
    options = {
        "rowsPerBatch": str(connector.rows_per_batch),
        "startTimestamp": str(connector.start_milliseconds),
        "advanceMillisPerBatch": str(connector.advance_milliseconds),
    }
    facts = {"format": _RATE, "start": connector.first_run.isoformat()}
    return FormatRows(spark=spark, name=name, format=_RATE, options=options, facts=facts)
