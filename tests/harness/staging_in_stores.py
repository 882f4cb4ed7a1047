"""What tests with a staging root in a store share: Airflow's variables, and files that are copied there and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from graph_compiler.staging.store.staging_store import StagingStore


def staging_variables(root: str, connection: Mapping[str, object]) -> dict[str, str]:
    """Return the variables by which Airflow knows a root, and an Airflow connection to it."""
    return {
        "AIRFLOW__GRAPH_COMPILER__STAGING_ROOT": root,
        "AIRFLOW__GRAPH_COMPILER__STAGING_CONN_ID": "lake",
        "AIRFLOW_CONN_LAKE": json.dumps(connection),
    }


def upload(store: StagingStore, folder: Path, place: str) -> None:
    """Put all files of a folder, except hidden ones, below a URI."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            store.put(f"{place}/{path.relative_to(folder)}", path.read_bytes())


def download(store: StagingStore, place: str, folder: Path) -> None:
    """Copy all files below a URI, also hidden ones, to a folder."""
    for file in store.files(place):
        content = store.get(file.key)
        assert content is not None, file.key
        path = folder / file.key.removeprefix(f"{place}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
