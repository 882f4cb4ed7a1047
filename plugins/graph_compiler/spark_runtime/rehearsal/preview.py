"""The first rows of one operator, as text that any program can read."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql.functions import struct, to_json

from graph_compiler.deployment.documents.in_process_run import Preview, PreviewedColumn, PreviewRequest
from graph_compiler.deployment.documents.report import Phase
from graph_compiler.spark_runtime.columns.declared_schema import type_words
from graph_compiler.spark_runtime.region.region_graph import Output
from graph_compiler.spark_runtime.region.region_run import RegionRun


@dataclass(slots=True)
class Previewer:
    """Collects the first rows of one operator."""

    request: PreviewRequest
    preview: Preview | None = field(default=None, init=False)

    @property
    def observed(self) -> frozenset[Output]:
        """Return the output if it is read twice: for its rows, and to count them."""
        output = (self.request.node_id, self.request.output_tag)
        return frozenset([output] if self.request.counts else [])

    def look(self, run: RegionRun) -> None:
        """Collect the rows, if this is the operator's region."""
        output = (self.request.node_id, self.request.output_tag)
        if output in run.evaluation.outputs:
            operator = run.evaluation.graph.operators[self.request.node_id]
            with run.running(operator, Phase.PREVIEW):
                self.preview = preview(
                    run.evaluation.outputs[output], limit=self.request.limit, counts=self.request.counts
                )


def preview(rows: DataFrame, *, limit: int, counts: bool) -> Preview:
    """Return the first rows; `counts`: and how many there are."""
    total = rows.count() if counts else None
    texts = rows.limit(limit).select(to_json(struct("*"), {"ignoreNullFields": "false"}))
    return Preview(
        columns=tuple(PreviewedColumn(name=field.name, data_type=type_words(field.dataType)) for field in rows.schema),
        rows=tuple(str(text) for (text,) in texts.collect()),
        total=total,
    )
