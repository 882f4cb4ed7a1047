"""How a pipeline is run, in YAML as in Python."""

from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from graph_compiler import AirflowArguments, Csv, InvalidPipelineError, Parquet, Schedule, StreamExecutionEnvironment
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.reader import parse_pipeline
from tests.yaml.equality import assert_equal
from tests.yaml.yaml_functions import LateParams, alert, one

BODY = """
sources: {in: {csv: /in}}
sinks: {out: {from: in, sink_to: {parquet: /out}}}
"""


def declared(**run: object) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p", **run)  # type: ignore[arg-type]  # by name
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out")).name("out")
    return env


RUNS: dict[str, dict[str, object]] = {
    "description: About late ones.": {"description": "About late ones."},
    "tags: [a, b]": {"tags": ["a", "b"]},
    "tags: a": {"tags": ["a"]},
    'schedule: {cron: "@daily", start: 2013-01-01, catchup: true, timezone: Europe/Vienna}': {
        "schedule": Schedule(cron="@daily", start=date(2013, 1, 1), catchup=True, timezone="Europe/Vienna")
    },
    "schedule: {every: 15 min, start: 2013-01-01T06:00, end: 2014-01-01T06:00+01:00}": {
        "schedule": Schedule(
            every=timedelta(minutes=15),
            start=datetime(2013, 1, 1, 6),
            end=datetime.fromisoformat("2014-01-01T06:00+01:00"),
        )
    },
    "schedule: {assets: /data/orders}": {"schedule": Schedule(assets=("/data/orders",))},
    "schedule: {assets: [/data/orders, s3://x/y]}": {"schedule": Schedule(assets=("/data/orders", "s3://x/y"))},
    "params: {a: x, b: 1, c: 1.5, d: true}": {"params": {"a": "x", "b": 1, "c": 1.5, "d": True}},
    "params: {a: {default: 1, type: number, exclusiveMaximum: 3, title: A}}": {
        "params": {"a": {"default": 1, "type": "number", "exclusiveMaximum": 3, "title": "A"}}
    },
    "params: {a: [1, 2], b: [x], c: [true]}": {"params": {"a": [1, 2], "b": ["x"], "c": [True]}},
    "params: {a: {default: null, sql_type: DATE}, b: {default: 2026-01-31, sql_type: date}}": {
        "params": {"a": {"default": None, "sql_type": "DATE"}, "b": {"default": "2026-01-31", "sql_type": "DATE"}}
    },
    "params: {a: {default: '0.06', sql_type: 'DECIMAL(4, 2)', title: Rate, type: ['null', string]}}": {
        "params": {"a": {"default": "0.06", "sql_type": "DECIMAL(4,2)", "title": "Rate", "type": ["null", "string"]}}
    },
    "params: {a: {default: [], sql_type: 'ARRAY<INT>', maxItems: 3}}": {
        "params": {"a": {"default": [], "sql_type": "ARRAY<INT>", "maxItems": 3}}
    },
    "params: {a: {default: x, enum: [x, y], values_display: {x: One, y: Two}}}": {
        "params": {"a": {"default": "x", "enum": ["x", "y"], "values_display": {"x": "One", "y": "Two"}}}
    },
    "params: tests.yaml.yaml_functions:LateParams": {"params": LateParams},
    "airflow: {dag: {max_active_runs: 2, dagrun_timeout: 2 h, start_date: 2026-01-01, "
    "access_control: {a: {b: [c]}}}}": {
        "airflow": AirflowArguments(
            dag={
                "max_active_runs": 2,
                "dagrun_timeout": timedelta(hours=2),
                "start_date": datetime(2026, 1, 1, tzinfo=UTC),
                "access_control": {"a": {"b": ["c"]}},
            }
        )
    },
    "airflow: {default_args: {owner: me, on_failure_callback: tests.yaml.yaml_functions:one}}": {
        "airflow": AirflowArguments(default_args={"owner": "me", "on_failure_callback": one})
    },
    "airflow: {dag: {on_failure_callback: tests.yaml.yaml_functions:alert}}": {
        "airflow": AirflowArguments(dag={"on_failure_callback": alert})
    },
    "airflow: {task_args: {out: {pool: p, on_retry_callback: [tests.yaml.yaml_functions:one, "
    "tests.yaml.yaml_functions:one]}}, group_args: {default: {retry_delay: 1 min, email: a@b}}}": {
        "airflow": AirflowArguments(
            task_args={"out": {"pool": "p", "on_retry_callback": [one, one]}},
            group_args={"default": {"retry_delay": timedelta(minutes=1), "email": ["a@b"]}},
        )
    },
}


@pytest.mark.parametrize("text", RUNS)
def test_yaml_declares_the_same_run_settings_as_python(text: str) -> None:
    wanted = declared(**RUNS[text]).pipeline()
    assert_equal(parse_pipeline(f"name: p\n{text}\n{BODY}", "p.yaml"), wanted)
    assert_equal(parse_pipeline(export_pipeline(wanted), "p.yaml"), wanted)


def test_wrong_arguments_of_airflow_are_refused_with_their_place() -> None:
    text = """name: p
airflow:
  dag: {max_active_run: 2, dagrun_timeout: soon, on_failure_callback: tests.yaml.yaml_functions:on}
  default_args: {pol: x, retries: many}
  task_args: {report: {owner: 1}}
  queue: q
"""
    with pytest.raises(InvalidPipelineError) as refused:
        parse_pipeline(text + BODY, "p.yaml")
    found = {problem.key: str(problem) for problem in refused.value.problems}
    assert "did you mean 'max_active_runs'?\n  declared at p.yaml:3" in (found["airflow.dag.max_active_run"])
    assert "allowed: a whole number and d, h, min" in found["airflow.dag.dagrun_timeout"]
    assert "did you mean 'pool'?" in found["airflow.default_args.pol"]
    assert "airflow.default_args.retries" in found
    assert "airflow.task_args.report.owner" in found
    assert "unknown key 'queue'\n  allowed: dag, default_args" in found["airflow.queue"]
    only = f"name: p\nairflow: {{dag: {{on_failure_callback: tests.yaml.yaml_functions:on}}}}\n{BODY}"
    with pytest.raises(InvalidPipelineError, match="has no function 'on'") as refused:
        parse_pipeline(only, "p.yaml")
    assert "did you mean 'one'?" in str(refused.value)
    misspelled = only.replace("yaml_functions:on}", "yaml_functions:alart}")
    with pytest.raises(InvalidPipelineError, match="did you mean 'alert'"):
        parse_pipeline(misspelled, "p.yaml")


def test_collections_and_enums_of_python_are_written_plainly() -> None:
    class Rule(StrEnum):
        ALL = "all_done"

    given = AirflowArguments(
        dag={"access_control": {"Viewer": {"can_read", "can_edit"}}, "tags": ("b", "a")},
        default_args={"trigger_rule": Rule.ALL, "execution_timeout": None},
    )
    text = export_pipeline(declared(airflow=given).pipeline())
    found = parse_pipeline(text, "p.yaml").airflow
    assert found.dag == {"access_control": {"Viewer": ["can_edit", "can_read"]}, "tags": ["b", "a"]}
    assert found.default_args == {"trigger_rule": "all_done", "execution_timeout": None}


@pytest.mark.parametrize(
    "value",
    [
        {"deadline": object()},
        {"on_failure_callback": lambda _: None},
        {"dagrun_timeout": timedelta(microseconds=5)},
        {"access_control": {1: ["x"]}},
        {"doc_md": object()},
        [1],
        None,
    ],
)
def test_what_only_python_has_is_not_exported(value: Any) -> None:
    pipeline = declared(airflow=AirflowArguments(dag=value)).pipeline()
    with pytest.raises(InvalidPipelineError, match="airflow: .*\n.*keep it in a Dag file"):
        export_pipeline(pipeline)


def test_path_parameters_are_relative_to_the_folder_that_holds_pipelines(tmp_path: Path) -> None:
    file = tmp_path / "pipelines" / "p.yaml"
    text = (
        "params: {a: {default: data/x, format: path}, b: {default: /data/x, format: path}, "
        "c: {default: s3://x, format: path}, d: data/x}"
    )
    found = parse_pipeline(f"name: p\n{text}\n{BODY}", str(file))
    assert dict(found.params) == {"a": str(tmp_path / "data/x"), "b": "/data/x", "c": "s3://x", "d": "data/x"}


def test_an_interval_without_a_unit_is_refused() -> None:
    with pytest.raises(InvalidPipelineError, match="allowed: a whole number and d, h, min, s or ms: 15 min"):
        parse_pipeline('name: p\nschedule: {every: "15", start: 2013-01-01}\n' + BODY, "p.yaml")


def test_every_problem_is_reported_with_its_place() -> None:
    text = """name: p
tags: {a: b}
schedule: {cron: "@dayly", every: soon, start: 2013-13-01, timezone: Europe/Wien, catchup: 1, on: x}
params:
  late: {default: -1, minimum: 0}
  other: {default: 3, minimun: 0}
  listed: [[1], 2]
  nothing:
  pattern: {default: a, pattern: "(("}
"""
    with pytest.raises(InvalidPipelineError) as refused:
        parse_pipeline(text + BODY, "p.yaml")
    found = {problem.key: str(problem) for problem in refused.value.problems}
    assert list(found) == [
        "tags",
        "schedule.cron",
        "schedule.every",
        "schedule.start",
        "schedule.timezone",
        "schedule.catchup",
        "schedule.on",
        "params.late",
        "params.other.minimun",
        "params.listed",
        "params.nothing",
        "params.pattern",
    ]
    assert "allowed: a whole number and d, h, min, s or ms: 15 min" in found["schedule.every"]
    assert "allowed: a day or a time, as 2026-01-01" in found["schedule.start"]
    assert "did you mean 'Europe/Vienna'?" in found["schedule.timezone"]
    assert "unknown key 'on'\n  allowed: cron, every" in found["schedule.on"]
    assert "did you mean 'minimum'?\n  declared at p.yaml:6:23" in found["params.other.minimun"]


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("tests.yaml.yaml_functions:LateParam", "no pydantic model 'LateParam'\n    hint: did you mean 'LateParams'?"),
        ("tests.yaml.yaml_functions:one", "no pydantic model 'one'"),
        ("tests.yaml.nothing:Params", "cannot import tests.yaml.nothing"),
        ("nothing", "params: is 'nothing'"),
    ],
)
def test_a_missing_model_is_refused(reference: str, words: str) -> None:
    with pytest.raises(InvalidPipelineError) as refused:
        parse_pipeline(f"name: p\nparams: {reference}\n{BODY}", "p.yaml")
    assert words in str(refused.value)
    assert "declared at p.yaml:2" in str(refused.value)
