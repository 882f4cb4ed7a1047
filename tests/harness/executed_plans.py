"""What Spark ran for each Parquet write, as its SQL tab would show it: the plan after adaptive execution."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

_WRITE = "Execute InsertIntoHadoopFsRelationCommand"
# `amount#12L` → `amount`, and the number of the plan in an exchange: both differ from one analysis to the next
_NUMBERS = re.compile(r"#\d+L?|, \[plan_id=\d+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedPlan:
    """Node descriptions from the write down to the scans, and edges between them; the write itself is left out.

    Generated-code clusters are no operators: they are left out too.
    """

    nodes: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the nodes whose description begins with one of these words."""
        return sorted(node for node in self.nodes if node.split("(")[0].split(" ")[0] in kinds)


def executions(spark: SparkSession) -> int:
    """Return the number of the next SQL execution; Spark keeps only the last thousand, so they cannot be counted."""
    assert spark._jsc is not None
    spark._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    kept = _store(spark).executionsList()
    return int(kept.apply(kept.size() - 1).executionId()) + 1 if kept.size() else 0


def executions_since(spark: SparkSession, number: int) -> list[Any]:
    """Return the executions from a number on that Spark still has."""
    next_number = executions(spark)
    found = [_store(spark).execution(id) for id in range(number, next_number)]
    return [one.get() for one in found if one.isDefined()]


def executed_plans(spark: SparkSession, since: int) -> dict[str, ExecutedPlan]:
    """Return the plans of all writes from execution `since` on, by the path written to."""
    store = _store(spark)
    return {path: plan for id in range(since, executions(spark)) for path, plan in _write(store.planGraph(id))}


def _store(spark: SparkSession) -> Any:  # a JVM object: py4j has no types for it
    return spark._jsparkSession.sharedState().statusStore()


def _write(graph: Any) -> Iterator[tuple[str, ExecutedPlan]]:
    nodes = {node.id(): node for node in _items(graph.allNodes())}
    words = {id: _NUMBERS.sub("", node.desc()) for id, node in nodes.items()}
    writes = [id for id, node in nodes.items() if node.name() == _WRITE]
    hidden = {*writes, *(id for id, word in words.items() if word.startswith("WholeStageCodegen"))}
    edges = [(edge.fromId(), edge.toId()) for edge in _items(graph.edges())]
    plan = ExecutedPlan(
        nodes=tuple(word for id, word in sorted(words.items()) if id not in hidden),
        edges=tuple(
            sorted((words[source], words[target]) for source, target in edges if not {source, target} & hidden)
        ),
    )
    for write in writes:
        found = re.search(r" file:(\S+), ", words[write])
        assert found is not None
        yield found[1], plan


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]
