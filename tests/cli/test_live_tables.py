"""`graph-compiler validate --live`: which tables are asked, and what is shown of the answers; none is asked here."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.cli.diagnosis import live_tables
from graph_compiler.cli.running.airflow_answers import SecretsFound
from graph_compiler.declaration.connectors.secret import Secret
from graph_compiler.deployment.describe import deployability
from graph_compiler.lake_metadata.table_state import NoTable, NotLookedAt, TableAnswer, TableState, TableWanted
from graph_compiler.projects.airflow_configuration import variable_of
from tests.cli.conftest import forget_pipelines

ROOT = Path(__file__).parents[2]
PASSWORD = "p@ss word"
HEAD = """
from graph_compiler import Csv, Delta, Iceberg, Secret, StreamExecutionEnvironment
LAKE = {"type": "jdbc", "uri": "jdbc:postgresql://db/lake", "jdbc.password": Secret("lake")}
env = StreamExecutionEnvironment("shop")
"""
PIPELINE = (
    HEAD
    + """
orders = env.from_source(Iceberg("lake.shop.orders", catalog=LAKE, schema="id INT, day STRING"), "orders")
again = env.from_source(Iceberg("lake.shop.orders", catalog=LAKE, schema="id INT, day STRING"), "again")
orders.union(again).sink_to(Iceberg("lake.shop.sold", catalog=LAKE), mode="append").name("sold")
"""
)
STATE = TableState(id="u-1", commit=7, columns="id INT, day STRING", read="id INT, day STRING")
Asked = list[Sequence[TableWanted]]
Answering = Callable[..., Asked]


@pytest.fixture
def project(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, on a host whose Spark the formats run on."""
    monkeypatch.setattr(deployability, "installed_version", lambda _: "4.1.4")
    return project


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Answering:
    """Answer questions by the names of tables; each secret has one value, or is missing."""

    def answer(missing: str | None = None, **answers: TableAnswer) -> Asked:
        asked: Asked = []

        def tables(wanted: Sequence[TableWanted], secrets: Iterable[str], env: Mapping[str, str]) -> list[TableAnswer]:
            asked.append(wanted)
            assert set(secrets) <= {PASSWORD}
            assert PASSWORD not in env.values()
            return [answers[str(each.connector.place).rpartition(".")[2].strip("/")] for each in wanted]

        def secrets(_: object, wanted: Iterable[Secret]) -> SecretsFound:
            names = {each.variable for each in wanted}
            if missing is not None:
                return SecretsFound(missing=dict.fromkeys(names, missing))
            return SecretsFound(values=dict.fromkeys(names, PASSWORD))

        monkeypatch.setattr(live_tables, "ask_tables", tables)
        monkeypatch.setattr(live_tables, "find_secrets", secrets)
        return asked

    return answer


def validate(project: Path, text: str, *arguments: str) -> Result:
    file = project / "pipelines" / "shop.py"
    file.write_text(text)
    forget_pipelines()
    return CliRunner().invoke(app, ["validate", str(file), "--live", *arguments])


def test_each_table_is_asked_once_with_its_secrets_and_shown_without_them(project: Path, answering: Answering) -> None:
    asked = answering(orders=STATE, sold=STATE)
    done = validate(project, PIPELINE)
    assert (done.exit_code, done.stderr) == (0, "")
    assert "tables of Iceberg and Delta: 3 of 3 sources and sinks looked at\n" in done.stdout
    (wanted,) = asked
    assert [each.connector.place for each in wanted] == [
        "Iceberg table lake.shop.orders",
        "Iceberg table lake.shop.sold",
    ]
    assert dict(wanted[0].properties)["jdbc.password"] == PASSWORD
    assert PASSWORD not in done.output + repr(wanted)
    (pipeline,) = json.loads(validate(project, PIPELINE, "--json").stdout)["pipelines"]
    assert PASSWORD not in json.dumps(pipeline)
    assert pipeline["tables"][0] == {
        "operator": "orders",
        "table": "Iceberg table lake.shop.orders",
        "id": "u-1",
        "commit": 7,
        "why_not": None,
        "why_no_columns": None,
    }


def test_all_problems_with_tables_are_shown_with_their_lines(project: Path, answering: Answering) -> None:
    answering(orders=NoTable(), sold=TableState(id="u", commit=None, columns="id INT, x INT", read=None))
    done = validate(project, PIPELINE)
    assert done.exit_code == 2
    assert "shop.py: pipeline 'shop' has 4 problems" in done.stderr
    assert "orders: Iceberg table lake.shop.orders does not exist\n" in done.stderr
    assert "again: Iceberg table lake.shop.orders does not exist\n" in done.stderr
    assert "sold: column 'x' is gone: found no such column; expected INT (its rows, compared with Iceb" in done.stderr
    assert "sold: column 'day' was added" in done.stderr
    assert done.stderr.count(f"declared at {project}/pipelines/shop.py:") == 4
    assert "tables of Iceberg and Delta: 3 of 3 sources and sinks looked at" in done.stderr


def test_what_was_not_looked_at_has_one_line_for_each_reason(project: Path, answering: Answering) -> None:
    answering(orders=NotLookedAt("its catalog sleeps"), sold=STATE)
    done = validate(project, PIPELINE)
    assert done.exit_code == 0
    assert "tables of Iceberg and Delta: 1 of 3 sources and sinks looked at\n" in done.stdout
    place = "(Iceberg table lake.shop.orders)"
    line = f"tables not looked at: orders of shop {place} and again of shop {place}: its catalog sleeps\n"
    assert line in done.stdout
    asked = answering(missing="there is no Airflow connection 'lake'")
    done = validate(project, PIPELINE)
    assert "0 of 3 sources and sinks looked at\n" in done.stdout
    assert ": there is no Airflow connection 'lake'\n" in done.stdout
    assert asked == [[]]


def test_what_only_a_run_knows_is_not_asked(project: Path, answering: Answering) -> None:
    text = (
        HEAD
        + """
env.from_source(Delta("/lake/{{ ds }}"), "daily").sink_to(Delta("/out"), mode="append").name("out")
dated = env.from_source(Delta("/old", timestamp="{{ ds }}", schema="other INT"), "dated")
dated.sink_to(Delta("/new", schema="id INT, day STRING"), mode="append").name("new")
"""
    )
    asked = answering(out=STATE, old=STATE, new=STATE)
    done = validate(project, text)
    assert done.exit_code == 0
    assert [str(each.connector.place) for each in asked[0]] == ["/out", "/old", "/new"]
    assert "tables not looked at: daily of shop (/lake/{{ ds }}): its path has a template" in done.stdout
    assert "columns not compared: dated of shop (/old): it is not known here which version it reads\n" in done.stdout
    assert "columns not compared: out of shop (/out): without schema=, only Spark knows" in done.stdout


def test_properties_of_catalogs_are_also_those_of_the_settings(
    project: Path, answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"spark.sql.catalog.lake.warehouse": "/w", "spark.sql.catalog.lake.uri": "other", "spark.x": "1"}
    monkeypatch.setenv(variable_of("spark_conf"), json.dumps(settings))
    asked = answering(orders=STATE, sold=STATE)
    validate(project, PIPELINE)
    found = dict(asked[0][0].properties)
    assert (found["warehouse"], found["uri"]) == ("/w", "jdbc:postgresql://db/lake")
    assert "spark.x" not in found


def test_pipelines_without_tables_are_said_to_have_none(project: Path, answering: Answering) -> None:
    answering()
    text = HEAD + 'env.from_source(Csv("/in"), "rows").sink_to(Csv("/out"))\n'
    assert "tables of Iceberg and Delta: 0 of 0 sources and sinks looked at\n" in validate(project, text).stdout
    refused = validate(project, text.replace('"rows"', '"rows", nothing=3'))
    assert refused.exit_code == 2
    assert "tables not looked at: those of shop, until the problems above are solved\n" in refused.stderr


def test_tables_are_asked_although_this_spark_cannot_use_them(
    project: Path, answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployability, "installed_version", lambda _: "4.3.0")
    answering(orders=NoTable(), sold=STATE)
    done = validate(project, PIPELINE)
    assert "orders: no Iceberg that is tested runs on Spark 4.3\n" in done.stderr
    assert "orders: Iceberg table lake.shop.orders does not exist\n" in done.stderr


def test_the_packages_are_imported_in_another_process_and_only_with_live(project: Path, tmp_path: Path) -> None:
    """Packages of these names are there, and note that they were imported."""
    packages = tmp_path / "packages"
    spark = packages / "pyspark-4.1.4.dist-info"
    spark.mkdir(parents=True)
    (spark / "METADATA").write_text("Name: pyspark\nVersion: 4.1.4\n")
    for name in ("deltalake", "pyiceberg"):
        (packages / f"{name}.py").write_text(f"open({str(tmp_path / name)!r}, 'w').close()\nraise ImportError\n")
    text = PIPELINE + 'orders.sink_to(Delta("/new"), mode="append").name("new")\n'
    (project / "pipelines" / "shop.py").write_text(text)
    program = (
        "from graph_compiler.cli.app import app; import sys\n"
        "app(sys.argv[1:], standalone_mode=False)\n"
        "print({'deltalake', 'pyiceberg'} & set(sys.modules))\n"
    )
    path = os.pathsep.join(map(str, (packages, ROOT / "plugins")))
    environment = {**os.environ, "PYTHONPATH": path, Secret("lake").variable: PASSWORD}
    for arguments, imported in (([], False), (["--live"], True)):
        command = [sys.executable, "-c", program, "validate", *arguments]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert "1 pipeline checked" in done.stdout, done.stderr
        assert {(tmp_path / name).exists() for name in ("deltalake", "pyiceberg")} == {imported}
