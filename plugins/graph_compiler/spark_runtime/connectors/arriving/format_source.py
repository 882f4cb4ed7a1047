"""Rows of a format of Spark that never end.

Spark logs up to which offset a batch reads, and only the format knows which rows are before it. So what determines them
is noted when a stream begins, and compared when it continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession

from graph_compiler.declaration.connectors import Rate
from graph_compiler.deployment.documents.stream import SourceFacts
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import SourceChangedError
from graph_compiler.identifiers import counted
from graph_compiler.spark_runtime.connectors.arriving.arriving_source import (
    SOURCE,
    ArrivingSource,
    BatchInput,
    SourceLog,
    arriving_source,
)
from graph_compiler.staging.store.read_document import get_document

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

    def of_batch(self, log: SourceLog, before: str | None, until: str | None) -> BatchInput:  # noqa: ARG002  # of the format
        """Return that the format has the rows between two offsets."""
        return KeptByFormat()


class KeptByFormat(BatchInput):
    """Rows of a batch that only their format can look at."""

    def check(self) -> None:
        """Raise nothing."""

    def check_unchanged(self) -> None:
        """Raise nothing."""


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
        "  hint: a pipeline that starts from a savepoint of the stream continues with its offsets; `graph-compiler "
        "streams reset` begins a new stream, which reads all that is there: what is published stays"
    )


@arriving_source.register
def _(connector: Rate, spark: SparkSession, name: str) -> ArrivingSource:
    options = {
        "rowsPerBatch": str(connector.rows_per_batch),
        "startTimestamp": str(connector.start_milliseconds),
        "advanceMillisPerBatch": str(connector.advance_milliseconds),
    }
    facts = {"format": _RATE, "start": connector.first_run.isoformat()}
    return FormatRows(spark=spark, name=name, format=_RATE, options=options, facts=facts)
