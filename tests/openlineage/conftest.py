"""Airflow's home, and the packages that `make test-openlineage` adds to the import path."""

from importlib.util import find_spec
from pathlib import Path

from tests.airflow.conftest import airflow_home

__all__ = ["airflow_home"]


def provider_packages() -> Path:
    """Return the folder that `make test-openlineage` adds to the import path."""
    spec = find_spec("openlineage.client")
    assert spec, "make test-openlineage adds Airflow's provider for OpenLineage"
    return Path(str(spec.origin)).parents[2]
