"""`tables maintain`: what it refuses before Spark starts, and what it prints."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.cli.commands import tables
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.deployment.documents.dry_run import ANSWER
from graph_compiler.deployment.documents.table_maintenance import (
    MaintainedTable,
    MaintenanceAnswer,
    MaintenanceRequest,
    MaintenanceStep,
    StepResult,
)
from graph_compiler.deployment.documents.wire import from_json, to_json

SHOP = """
from graph_compiler import Csv, Delta, Iceberg, Secret, StreamExecutionEnvironment
env = StreamExecutionEnvironment("shop")
catalog = {{"type": "jdbc", "uri": "jdbc:postgresql://db/lake", {password}}}
rows = env.from_source(Csv("/in", schema="id INT, day STRING"), "rows")
rows.sink_to(Iceberg("lake.shop.sold", catalog=catalog), mode="append").name("sold").uid("sold")
rows.sink_to(Iceberg("lake.shop.days", catalog=catalog), mode="overwrite").name("days").uid("days")
rows.sink_to(Delta("/lake/{{{{ ds }}}}/sold"), mode="append").name("files").uid("files")
"""
FILES = """
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
env = StreamExecutionEnvironment("files")
env.from_source(Csv("/in"), "rows").sink_to(Parquet("/out")).name("out").uid("out")
"""
SPARK = """
import pathlib, sys
request = pathlib.Path(sys.argv[1])
pathlib.Path({asked!r}).write_text(request.read_text())
request.with_name({name!r}).write_text(pathlib.Path({answer!r}).read_text())
"""
DONE = MaintainedTable(
    table="lake.shop.sold",
    format="Iceberg",
    steps=(
        StepResult(step=MaintenanceStep.BRANCHES, figures=(("removed", 1),)),
        StepResult(step=MaintenanceStep.COMPACTION, left_out="an attempt is in progress"),
        StepResult(
            step=MaintenanceStep.EXPIRY,
            figures=(("snapshots removed", 1234), ("bytes removed", 2_500_000)),
            kept="snapshots from noon on are kept: a position",
        ),
    ),
)
FAILED = MaintainedTable(table="lake.shop.days", format="Iceberg", failed="it is broken")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "pipelines" / "shop.py").write_text(SHOP.format(password='"jdbc.password": Secret("lake")'))
    (tmp_path / "pipelines" / "files.py").write_text(FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("graph_compiler.deployment.describe.deployability.installed_version", lambda _: "4.1.4")
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "pipelines"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


def maintain(*words: str) -> Result:
    return CliRunner().invoke(app, ["tables", "maintain", *words])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["shop", "--older-than", "30"], "--older-than is '30'\n  allowed: a whole number and one of"),
        (["shop", "--older-than", "soon"], "--older-than is 'soon'\n  allowed: a whole number and one of"),
        (["shop", "--older-than", "6 d"], "--older-than is '6 d', and /lake/2013-01-01/sold is a table of Delta Lake"),
        (["shop", "--older-than", "167 h"], "allowed: 7 d and more, as Delta's own check of VACUUM"),
        (["files"], "pipeline 'files' writes no table of Iceberg or Delta Lake"),
        (
            ["shop", "--table", "sold"],
            "no pipeline that is named writes sold\n  allowed: /lake/2013-01-01/sold, lake.shop.days",
        ),
        (["shop", "--table", "lake.shop.sold"], "it needs Secret(lake.password), but the command line does not ask"),
    ],
)
@pytest.mark.usefixtures("project")
def test_what_cannot_be_done_is_refused_before_spark_starts(words: list[str], message: str) -> None:
    done = maintain(*words, "--date", "2013-01-01")
    assert done.exit_code == 2, done.output
    assert message in done.stderr


@pytest.fixture
def asked(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answer in place of Spark, and return where its request is put."""
    answer, request, program = project / "answer.json", project / "asked.json", project / "spark.py"
    answer.write_text(to_json(MaintenanceAnswer(tables=(DONE, FAILED))))
    program.write_text(SPARK.format(asked=str(request), name=ANSWER, answer=str(answer)))
    monkeypatch.setattr(tables, "_PROGRAM", program)
    (project / "pipelines" / "shop.py").write_text(SHOP.format(password=""))
    return request


def test_what_was_done_is_printed_with_its_figures_and_reasons(asked: Path) -> None:
    done = maintain("shop", "--table", "lake.shop.sold", "--table", "lake.shop.days", "--older-than", "1 d")
    assert done.exit_code == 1, done.output
    assert done.stdout.splitlines() == [
        "lake.shop.sold (Iceberg)",
        "  branches: 1 removed",
        "  compaction: left out: an attempt is in progress",
        "  expiry: 1,234 snapshots removed, 2.5 MB removed",
        "    snapshots from noon on are kept: a position",
        "lake.shop.days (Iceberg)",
        "  failed: it is broken",
    ]
    request = from_json(MaintenanceRequest, asked.read_text())
    assert [table.place for table in request.tables] == ["Iceberg table lake.shop.sold", "Iceberg table lake.shop.days"]
    assert request.settings.older_than == 86400.0
    assert request.root == EmbeddedAirflow(asked.parent).staging_root


def test_the_document_has_the_same(asked: Path) -> None:
    done = maintain("shop", "shop", "--no-compact", "--orphans", "--retain-last", "3", "--json")
    first, second = json.loads(done.stdout)["tables"]
    assert [step["step"] for step in first["steps"]] == ["branches", "compaction", "expiry"]
    assert first["steps"][2]["figures"] == {"snapshots_removed": 1234, "bytes_removed": 2_500_000}
    assert first["steps"][1]["left_out"] == "an attempt is in progress"
    assert second["failed"] == "it is broken"
    request = from_json(MaintenanceRequest, asked.read_text())
    assert len(request.tables) == 3, "each table once"
    settings = request.settings
    assert (settings.compacts, settings.expires, settings.removes_orphans) == (False, True, True)
    assert (settings.retain_last, settings.older_than) == (3, 7 * 86400.0)


def test_delta_is_not_expired_so_any_age_is_allowed(asked: Path) -> None:
    done = maintain("shop", "--no-expire", "--older-than", "1 h")
    assert done.exit_code == 1, "a table has failed"
    assert not from_json(MaintenanceRequest, asked.read_text()).settings.expires


def test_a_spark_that_dies_is_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "spark.py").write_text("raise SystemExit('no memory')")
    monkeypatch.setattr(tables, "_PROGRAM", project / "spark.py")
    done = maintain("shop", "--table", "/lake/2013-01-01/sold", "--date", "2013-01-01")
    assert done.exit_code == 2
    assert "Spark did not answer:\nno memory" in done.stderr
