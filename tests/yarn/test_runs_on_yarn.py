"""Pipelines run on YARN, with the driver on Airflow's host and on another one."""

import json
from dataclasses import replace

import pytest

from tests.cluster.conftest import run
from tests.harness.reference import assert_same_rows, expected, published, reports, rows
from tests.yarn.conftest import YarnHome

pytestmark = pytest.mark.yarn


@pytest.mark.parametrize("deploy_mode", ["client", "cluster"])
def test_flights_are_duckdbs(deploy_mode: str, yarn_home: YarnHome) -> None:
    home = replace(yarn_home, deploy_mode=deploy_mode)
    before = set(home.yarn.applications())  # other tests share the cluster
    run(home, "flights", home.params)
    for name, query in reports(home.data).items():
        assert_same_rows(published(home.output / name), expected(query))
    ended = {id: state for id, state in home.yarn.applications().items() if id not in before}
    assert set(ended.values()) == {("FINISHED", "SUCCEEDED")}


def test_functions_of_every_kind_run_where_nothing_of_ours_is(yarn_home: YarnHome) -> None:
    home = yarn_home
    sales = home.yarn.shared / "sales.csv"
    sales.write_text("key,quantity\n" + "".join(f"{n % 5},{n}.0\n" for n in range(-2, 40)))
    run(home, "stock", {"input": str(sales), "output": str(home.output)})
    assert rows(home.output / "negative") == [(3, -2.0), (4, -1.0)]

    for path in home.staging.glob("stock/*/tasks/*/*/submission.json"):
        submission = json.loads(path.read_text())
        assert submission["environment"] == []
        root = str(home.staging)
        *_, application, descriptor = submission["command"]
        assert application.startswith(root)
        assert descriptor.startswith(root)
        elsewhere = " ".join(word for word in submission["command"] if not word.startswith(root))
        assert str(home.repository) not in elsewhere
        assert "PYTHONPATH" not in elsewhere
