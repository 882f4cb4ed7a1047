"""Copies of the files, jars and archives that a pipeline names, below the run's folder.

<run>/files/<version>/rates.csv

The first task of a run puts a copy, and the others find it. So a file that changes does not give two hosts two
contents, and a retry of the same version reads the same.
"""

from __future__ import annotations

from graph_compiler.deployment.documents.descriptor import TaskDeploymentDescriptor
from graph_compiler.staging.store.staging_store import StagingStore


def put_artifacts(store: StagingStore, task: TaskDeploymentDescriptor) -> None:
    """Put what the run's folder does not have; raises ArtifactError if a file was changed meanwhile."""
    for artifact in task.region.artifacts:
        key = task.layout.artifact(artifact)
        if not store.is_there(key):
            store.put_if_absent(key, artifact.content())
