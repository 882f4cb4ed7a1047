"""An execution's descriptor, changed so that running it again writes only to a scratch folder.

It reads the same inputs. It stages and publishes below the scratch folder, with every sink as Parquet.
"""

from __future__ import annotations

from dataclasses import replace

from graph_compiler.declaration.connectors import Parquet
from graph_compiler.declaration.operators import Sink
from graph_compiler.declaration.retention import Retention
from graph_compiler.deployment.documents.descriptor import (
    OperatorDescriptor,
    RegionDescriptor,
    TaskDeploymentDescriptor,
)
from graph_compiler.identifiers import IntermediateDataSetId, path_segment

REPLAY = "replay"
"""The execution id of a replay; each replay has its own scratch folder."""


def redirect(task: TaskDeploymentDescriptor, scratch: str) -> TaskDeploymentDescriptor:
    """Return the task with its staging root and its sinks below `scratch`, an absolute path."""
    region = task.region.changed(lambda operator: _redirected(operator, scratch))
    return replace(
        task,
        # The manifests that it reads refer to real data, which it must not release.
        region=replace(region, retention=Retention()),
        attempt=replace(task.attempt, execution_id=REPLAY),
        staging_root=f"{scratch}/staging",
    )


def staged_inputs(region: RegionDescriptor) -> tuple[IntermediateDataSetId, ...]:
    """Return the results of other tasks that a region reads."""
    own = {result.id for result in region.results}
    read = [
        edge.staged.id
        for operator in region.operators
        for edge in operator.inputs
        if edge.staged is not None and edge.staged.id not in own
    ]
    return tuple(dict.fromkeys(read))


def _redirected(operator: OperatorDescriptor, scratch: str) -> OperatorDescriptor:
    if not isinstance(operator.operator, Sink):
        return operator
    folder = f"{scratch}/sinks/{path_segment(f'{operator.name}-{operator.node_id}')}"
    return replace(operator, operator=Sink(Parquet(folder)))
