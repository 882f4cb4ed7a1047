"""A sink with a writer becomes several transformations: Flink's expansion of Sink V2.

    sink  →  pre-write → Writer ─forward, BATCH─▶ pre-commit → Committer ─forward, BATCH─▶ post-commit

Names and uids begin with those of the sink. Every part takes an id from the graph's counter when it is declared, and
so does a partition. Then the operators are translated in order, each after its inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from graph_compiler.compiler.stream_graph.stream_graph_draft import StreamGraphDraft
from graph_compiler.declaration.operators import Operator, OperatorSettings, Sink
from graph_compiler.declaration.partitioners import ExchangeMode, ForwardPartitioner, Partitioner
from graph_compiler.declaration.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    SinkOperator,
    SinkTransformation,
    Transformation,
    problem_at,
)


@dataclass(slots=True)
class SinkExpansion:
    """The parts of one sink while they are declared; `_last` is the id of the part before the next one."""

    draft: StreamGraphDraft
    sink: SinkTransformation
    _last: int = 0
    _found: list[Transformation] = field(default_factory=list)

    def parts(self) -> Iterator[Transformation]:
        """Return the parts in the order in which they are translated; each partition comes before its first reader."""
        self._last = self.sink.inputs[0]
        topology = self.sink.topology
        for step in topology.pre_write:
            self._add(step)
        uid = self.sink.settings.uid
        self._add_operator("Writer", self.sink.operator, self._settings(uid))
        if topology.has_committer:
            self._add_partition(ForwardPartitioner(), ExchangeMode.BATCH)
            for step in topology.pre_commit:
                self._add(step)
            settings = self._settings(None if uid is None else f"Sink Committer: {uid}")
            self._add_operator("Committer", self.sink.operator, settings)
            if topology.post_commit:
                self._add_partition(ForwardPartitioner(), ExchangeMode.BATCH)
            for step in topology.post_commit:
                self._add(step)
        elif topology.pre_commit or topology.post_commit:
            problem = problem_at(
                self.sink,
                "it has operators before or after a commit, but no committer",
                allowed="pre_commit and post_commit of a sink with a committer",
            )
            self.draft.problems.append(problem)
        # A partition behind the last operator is never read.
        last = max(number for number, part in enumerate(self._found) if not isinstance(part, PartitionTransformation))
        yield from self._found[: last + 1]

    def _add(self, step: Partitioner | SinkOperator) -> None:
        if isinstance(step, Partitioner):
            return self._add_partition(step, ExchangeMode.UNDEFINED)
        uid = self.sink.settings.uid
        if step.uid and not uid:
            problem = problem_at(
                self.sink,
                f"it has no uid, but its operator '{step.name}' has the uid '{step.uid}'",
                hint='set .uid("…") on the sink: the uids of its operators begin with it',
            )
            self.draft.problems.append(problem)
        settings = self._settings(step.uid if uid is None or step.uid is None else f"{uid}: {step.uid}")
        if not (isinstance(step.operator, Sink) and step.operator.has_writer):
            return self._add_operator(step.name, step.operator, settings)
        return self._append(
            SinkTransformation(
                id=self.draft.new_id(),
                inputs=(self._last,),
                declared_at=self.sink.declared_at,
                name=f"{self.sink.name}: {step.name}",
                operator=step.operator,
                settings=settings,
                chaining_strategy=self.sink.chaining_strategy,
            )
        )

    def _settings(self, uid: str | None) -> OperatorSettings:
        """Return those of the sink, without those that Flink does not pass on to the parts."""
        return replace(
            self.sink.settings,
            uid=uid,
            description=None,
            uid_hash=None,
            min_resources=None,
            preferred_resources=None,
            buffer_timeout=None,
        )

    def _add_operator(self, name: str, operator: Operator, settings: OperatorSettings) -> None:
        self._append(
            OneInputTransformation(
                id=self.draft.new_id(),
                inputs=(self._last,),
                declared_at=self.sink.declared_at,
                name=f"{self.sink.name}: {name}",
                operator=operator,
                settings=settings,
                chaining_strategy=self.sink.chaining_strategy,
                state_keys=() if self._found else self.sink.state_keys,  # a stream keeps its keys up to one operator
            )
        )

    def _add_partition(self, partitioner: Partitioner, exchange_mode: ExchangeMode) -> None:
        self._append(
            PartitionTransformation(
                id=self.draft.new_id(),
                inputs=(self._last,),
                partitioner=partitioner,
                exchange_mode=exchange_mode,
                declared_at=self.sink.declared_at,
            )
        )

    def _append(self, part: Transformation) -> None:
        self._found.append(part)
        self._last = part.id
