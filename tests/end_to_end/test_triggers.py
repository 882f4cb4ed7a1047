"""Runs started by the API, by an asset, or of a pipeline without a Dag file, under `airflow standalone`."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import duckdb
import pytest

from tests.end_to_end.conftest import Home
from tests.harness.standalone import Api, standalone, until

pytestmark = [pytest.mark.e2e, pytest.mark.long]

SHOP = '''"""Airflow dags: values come from who triggers a run, or an asset does."""
from pydantic import BaseModel, Field

from graph_compiler import Parquet, Schedule, StreamExecutionEnvironment, Values
from graph_compiler.airflow_backend import build_dag


class ShopParams(BaseModel):
    """The parameters of a run."""

    who: str = "ann"
    least: int = Field(0, ge=0, le=9)
    root: str = "OUTPUT"


rows = Values((("ann", 1), ("bob", 2), ("' OR 1=1 --", 3), ("x{#%", 4)), schema="name STRING, n INT")
shop = StreamExecutionEnvironment("shop", params=ShopParams)
found = shop.from_source(rows, "people").filter("(name = :who OR name RLIKE '[{#%]+') AND n >= :least")
found.select("name", "n", day=":run_date").sink_to(Parquet("{{ params.root }}/found")).name("found")
shop_dag = build_dag(shop)

after = StreamExecutionEnvironment("after_shop", schedule=Schedule(assets=("OUTPUT/found",)))
again = after.from_source(Parquet("OUTPUT/found"), "found").select("name", day=":run_date")
again.sink_to(Parquet("OUTPUT/after/{{ run_id | length }}")).name("after")
after_dag = build_dag(after)

dated = StreamExecutionEnvironment("dated")
dated.from_source(rows, "people").sink_to(Parquet("OUTPUT/dated/{{ ds }}")).name("dated")
dated_dag = build_dag(dated)
'''
LOADER = '''"""An airflow dag for each YAML file."""
from graph_compiler.airflow_backend import load_dags
globals().update(load_dags("FOLDER"))
'''
BROKEN = '''"""What airflow could not make a dag of."""
from graph_compiler.airflow_backend import report_broken
report_broken("FOLDER")
'''
YAML = """name: stock
params: {least: {default: 2, minimum: 0}}
sources: {orders: {values: [[ann, 1], [bob, 2], [eve, 3]], schema: "name STRING, n INT"}}
steps:
  - {name: many, from: orders, filter: "n >= :least"}
sinks: {out: {from: many, sink_to: {parquet: OUTPUT}}}
"""


def test_parameters_reach_a_run_and_an_asset_triggers_the_next(home: Home, tmp_path: Path) -> None:
    output = tmp_path / "output"
    dags = dict.fromkeys(("shop", "after_shop", "dated"), SHOP.replace("OUTPUT", str(output)))
    with standalone(home.environment, tmp_path, {"shop": dags["shop"]}) as api:
        for dag in ("after_shop", "dated"):
            until(partial(api.attempt, "GET", f"/api/v2/dags/{dag}"), f"{dag} to be parsed")
            api.call("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})

        for conf, reason in (
            ({"least": 10}, "10 is greater than the maximum of 9"),
            ({"least": "many"}, "'many' is not of type 'integer'"),
        ):
            with pytest.raises(HTTPError) as refused:
                trigger(api, "shop", conf)
            assert refused.value.code == 400
            assert reason in refused.value.read().decode()

        bad = {"who": "' OR 1=1 --", "least": 2}
        assert finished(api, "shop", trigger(api, "shop", bad))["state"] == "success"
        assert rows(output / "found") == [("' OR 1=1 --", 3), ("x{#%", 4)]

        (event,) = until(lambda: events(api, output), "an event of the asset")
        assert event["extra"]["rows"] == 2
        after = until(lambda: runs(api, "after_shop"), "the run that the asset triggers")
        assert [(run["run_type"], run["logical_date"]) for run in after] == [("asset_triggered", None)]
        assert finished(api, "after_shop", after[0])["state"] == "success"
        (folder,) = (output / "after").iterdir()
        assert len(rows(folder, "name")) == 2

        elsewhere = finished(api, "shop", trigger(api, "shop", {"root": str(tmp_path / "else")}))
        assert elsewhere["state"] == "success"
        assert rows(tmp_path / "else/found") == [("ann", 1), ("x{#%", 4)]
        assert len(events(api, output)) == 1, "nothing new where readers of the asset look"

        run = finished(api, "dated", trigger(api, "dated", {}))
        assert run["state"] == "failed"
        (task,) = api.call("GET", f"/api/v2/dags/dated/dagRuns/{run['dag_run_id']}/taskInstances")["task_instances"]
        assert (task["state"], task["try_number"]) == ("failed", 1), "no try is spent on what cannot be"
    (log,) = home.folder.glob("logs/dag_id=dated/**/*.log")
    assert "{{ run_date }} is the day in every run" in log.read_text()


def test_a_yaml_dag_runs_beside_a_broken_file(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    folder.mkdir()
    yaml = YAML.replace("OUTPUT", str(tmp_path / "stock"))
    (folder / "stock.yaml").write_text(yaml)
    (folder / "broken.yaml").write_text(yaml.replace("from: many", "from: man"))
    (tmp_path / "dags").mkdir()
    for name, text in {"all_jobs": LOADER, "bad_jobs": BROKEN}.items():
        (tmp_path / "dags" / f"{name}.py").write_text(text.replace("FOLDER", str(folder)))
    with standalone(home.environment, tmp_path, {}) as api:
        errors = until(lambda: import_errors(api), "the import error")
        until(lambda: api.attempt("GET", "/api/v2/dags/stock"), "the Dag of the other file")
        assert [dag["dag_id"] for dag in api.call("GET", "/api/v2/dags")["dags"]] == ["stock"]
        api.call("PATCH", "/api/v2/dags/stock", {"is_paused": False})
        assert finished(api, "stock", trigger(api, "stock", {"least": 3}))["state"] == "success"
    assert rows(tmp_path / "stock") == [("eve", 3)]
    ((file, words),) = [(error["filename"], error["stack_trace"]) for error in errors]
    assert file == "bad_jobs.py"
    assert "sinks.out.from: there is no stream called 'man'" in words
    assert f"declared at {folder / 'broken.yaml'}:6:" in words


def trigger(api: Api, dag: str, conf: Mapping[str, object]) -> Any:
    return api.call("POST", f"/api/v2/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})


def finished(api: Api, dag: str, run: Any) -> Any:
    path = f"/api/v2/dags/{dag}/dagRuns/{run['dag_run_id']}"

    def look() -> Any:
        found = api.call("GET", path)
        return found if found["state"] in ("success", "failed") else None

    return until(look, f"{dag} to end", seconds=300)


def runs(api: Api, dag: str) -> Any:
    return api.call("GET", f"/api/v2/dags/{dag}/dagRuns")["dag_runs"]


def events(api: Api, output: Path) -> Any:
    found = api.call("GET", "/api/v2/assets/events")["asset_events"]
    return [event for event in found if event["uri"] == f"file://{output}/found"]


def import_errors(api: Api) -> Any:
    return api.call("GET", "/api/v2/importErrors")["import_errors"]


def rows(folder: Path, columns: str = "name, n") -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT {columns} FROM '{folder}/*.parquet' ORDER BY ALL")
        return found.fetchall()
