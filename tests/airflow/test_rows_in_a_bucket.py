"""Rows of a staged result in an object store: the server fetches the files that the manifest names, up to a size."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from graph_compiler.deployment.documents.run_identity import RunIdentity
from graph_compiler.deployment.documents.staging_layout import StagingLayout
from graph_compiler.errors import PartitionNotFoundError
from graph_compiler.staging.store import stores
from graph_compiler.staging.store.in_memory_store import InMemoryStore
from tests.airflow.staged_rows import schema_of, stage_rows

if TYPE_CHECKING:
    from graph_compiler.airflow_backend.web.rows.staged_files import StagedFiles

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
FOLDER = "s3a://lake/staging/p/r/data/x"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> InMemoryStore:
    found = InMemoryStore()
    monkeypatch.setattr(stores, "_OPENING", {None: lambda _: lambda _: found})
    return found


@pytest.fixture
def files(bucket: InMemoryStore, tmp_path: Path) -> "StagedFiles":
    from graph_compiler.airflow_backend.web.rows.staged_files import StagedFiles

    layout = StagingLayout(root=str(tmp_path), identity=RunIdentity.own("p", "r"))
    manifest = stage_rows(layout, schema_of(("n", "long")), [pa.table({"n": [1, 2]})])
    (file,) = manifest.files
    key = f"{FOLDER}/{file.name}"
    bucket.put(key, Path(manifest.location, file.name).read_bytes())
    named = replace(file, checksums=bucket.digest(key))
    partitions = (replace(manifest.partitions[0], files=(named,)),)
    return StagedFiles(manifest=replace(manifest, partitions=partitions), folder=FOLDER)


def test_rows_are_read_from_fetched_files(files: "StagedFiles") -> None:
    from graph_compiler.airflow_backend.web.rows.row_sample import read_sample

    assert [list(row) for row in read_sample(files, 5).rows] == [["1"], ["2"]]


def test_a_changed_a_missing_and_a_large_file_are_not_read(
    files: "StagedFiles", bucket: InMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graph_compiler.airflow_backend.web.rows import staged_files
    from graph_compiler.airflow_backend.web.rows.row_sample import read_sample

    (key,) = bucket.content
    content = bucket.content[key]
    for changed, words in ((content[:-1] + b"!", "cannot be trusted"), (None, "cannot be trusted")):
        if changed is None:
            bucket.delete(key)
        else:
            bucket.put(key, changed)
        with pytest.raises(PartitionNotFoundError, match=words):
            read_sample(files, 5)
    bucket.put(key, content)
    monkeypatch.setattr(staged_files, "_MOST_FETCHED", 10)
    with pytest.raises(PartitionNotFoundError, match="more than the 10 that are fetched"):
        read_sample(files, 5)
