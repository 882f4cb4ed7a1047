"""The example pipeline on a cluster gives DuckDB's rows, however it is cut."""

import json

import pytest

from tests.cluster.conftest import ClusterHome, run
from tests.conftest import SHUFFLE_MODES
from tests.harness.reference import assert_same_rows, expected, published, reports

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("mode", SHUFFLE_MODES)
def test_every_mode_gives_the_reference_rows(mode: str, cluster_home: ClusterHome) -> None:
    home = cluster_home
    options = json.dumps({"execution.batch-shuffle-mode": mode})
    run(home, "flights", home.params, AIRFLOW__GRAPH_COMPILER__OPTIONS=options)
    for name, query in reports(home.data).items():
        assert_same_rows(published(home.output / name), expected(query))
