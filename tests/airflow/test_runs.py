"""How a Dag runs: parameters, schedule, assets, and runs without a logical date."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel, Field

from graph_compiler import Csv, InvalidPipelineError, Parquet, Schedule, StreamExecutionEnvironment
from graph_compiler.deployment.documents.report import Output, PublishedCommit

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


class SalesParams(BaseModel):
    """The parameters of a run."""

    least: int = Field(10, ge=0, description="Euros.")
    country: str = Field("at", pattern="^[a-z]{2}$")


def environment(path: str = "/in", target: str = "/out", **hints: Any) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("sales", **hints)
    env.from_source(Csv(path), "orders").sink_to(Parquet(target)).name("out")
    return env


def build(env: StreamExecutionEnvironment, **arguments: Any) -> Any:
    from graph_compiler.airflow_backend import build_dag

    return build_dag(env, **arguments)


def test_a_model_becomes_the_dags_params() -> None:
    params = build(environment(params=SalesParams)).params
    assert dict(params) == {"least": 10, "country": "at"}
    shown = params.get_param("least").serialize()
    assert shown["description"] == "Euros."
    assert shown["schema"] == {"title": "Least", "type": "integer", "minimum": 0}


@pytest.mark.parametrize("conf", [{"least": -1}, {"least": "many"}, {"country": "' OR 1=1 --"}], ids=str)
def test_bad_values_are_refused_before_anything_runs(conf: dict[str, object]) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    params = build(environment(params=SalesParams)).params
    with pytest.raises(ParamValidationError):
        params.update(conf)


def test_a_dag_takes_the_pipelines_schedule_unless_overridden() -> None:
    env = environment(
        schedule=Schedule(cron="@hourly", start=date(2026, 1, 1), end=date(2026, 2, 1)),
        description="Sales.",
        tags=["shop"],
    )
    dag = build(env)
    assert (dag.schedule, dag.catchup, dag.description) == ("@hourly", False, "Sales.")
    assert (dag.start_date, dag.end_date) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC))
    assert {"shop", "graph_compiler"} <= set(dag.tags)
    dag = build(env, schedule=None, start_date=datetime(2027, 1, 1))
    assert (dag.schedule, dag.start_date) == (None, datetime(2027, 1, 1, tzinfo=UTC))


def test_without_a_schedule_it_runs_by_hand() -> None:
    assert build(environment()).schedule is None


@pytest.mark.parametrize(
    ("start", "given"),
    [
        (None, {}),
        (date(2026, 1, 1), {}),
        (datetime(2026, 1, 1, tzinfo=UTC), {}),
        (date(2026, 1, 1), {"start_date": datetime(2026, 1, 1, tzinfo=UTC)}),
    ],
    ids=str,
)
def test_a_schedule_keeps_its_time_zone(start: date | None, given: dict[str, Any]) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    schedule = Schedule(cron="0 6 * * *", timezone="Europe/Vienna", start=start)
    dag = build(environment(schedule=schedule), **given)
    (stored,) = [value for key, value in DagSerialization.to_dict(dag)["dag"]["timetable"].items() if key == "__var"]
    assert stored["timezone"] == "Europe/Vienna"


@pytest.mark.parametrize("intervals", ["True", "False"])
def test_a_cron_has_the_data_intervals_that_airflow_is_set_to(intervals: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS", intervals)
    schedules = [
        Schedule(cron="0 6 * * *", timezone=zone, start=start)
        for zone in ("UTC", "Europe/Vienna")
        for start in (None, date(2026, 1, 1))
    ]
    kinds = {type(build(environment(schedule=each)).timetable).__name__ for each in schedules}
    assert kinds == {"CronDataIntervalTimetable" if intervals == "True" else "CronTriggerTimetable"}


def test_continuous_schedules_have_one_active_run() -> None:
    hints = environment(target="/out/{{ run_id }}", schedule=Schedule(cron="@continuous"))
    assert build(hints).max_active_runs == 1
    assert build(environment(), schedule="@continuous").max_active_runs == 1


def test_an_interval_is_a_schedule() -> None:
    assert build(environment(schedule=Schedule(every=timedelta(minutes=5)))).schedule == timedelta(minutes=5)


def test_scheduling_assets_have_the_names_that_producers_publish() -> None:
    writer = build(environment(target="{{ params.root }}/orders", params={"root": "/lake"}))
    reader = build(environment(path="/lake/orders", schedule=Schedule(assets=("/lake/orders",))))
    (asset,) = writer.get_task("out").outlets
    assert asset.uri == "file:///lake/orders"
    assert reader.get_task("out").inlets == [asset]
    assert [found.uri for found in reader.timetable.asset_condition.objects] == [asset.uri]


def test_a_dag_does_not_wait_for_itself_alone() -> None:
    own = environment(target="/lake/orders/", schedule=Schedule(assets=("/lake/orders",)))
    with pytest.raises(InvalidPipelineError, match="which it writes itself"):
        build(own)
    both = Schedule(assets=("/lake/orders", "/lake/others"))
    assert build(environment(target="/lake/orders", schedule=both)).task_ids == ["out"]


def test_a_condition_that_its_own_output_meets_is_refused() -> None:
    from airflow.sdk import Asset, AssetOrTimeSchedule, CronTriggerTimetable

    own, other = Asset("file:///lake/orders"), Asset("file:///lake/others")
    daily = CronTriggerTimetable("@daily", timezone="UTC")
    for endless in (
        own | other,
        own & own,
        own & (own | other),
        [own, own | other],
        AssetOrTimeSchedule(timetable=daily, assets=own | other),
    ):
        with pytest.raises(InvalidPipelineError, match="it waits for file:///lake/orders, which it writes itself"):
            build(environment(target="/lake/orders"), schedule=endless)
    for ends in (own & other, other | (own & other), AssetOrTimeSchedule(timetable=daily, assets=[own, other])):
        assert build(environment(target="/lake/orders"), schedule=ends).task_ids == ["out"]


def test_an_asset_triggered_run_has_no_logical_date() -> None:
    by_assets = Schedule(assets=("/lake/orders",))
    with pytest.raises(InvalidPipelineError) as refused:
        build(environment("/in/{{ ds }}", "/out/{{ logical_date }}", schedule=by_assets))
    assert [problem.operator for problem in refused.value.problems] == ["orders", "out"]
    build(environment("/in/{{ run_date }}", schedule=by_assets))
    build(environment("/in/{{ ds }}", schedule=Schedule(cron="@daily")))


def test_a_run_triggered_by_combined_assets_has_no_logical_date() -> None:
    from airflow.sdk import Asset

    for combined in (Asset("a") & Asset("b"), Asset("a") | Asset("b")):
        with pytest.raises(InvalidPipelineError, match="has no logical date"):
            build(environment("/in/{{ ds }}"), schedule=combined)


def context(logical_date: datetime | None) -> dict[str, Any]:
    run = SimpleNamespace(logical_date=logical_date, run_after=datetime(2026, 5, 6, tzinfo=UTC), run_type="scheduled")
    return {"dag_run": run, "params": {}}


def test_every_run_has_a_run_date() -> None:
    for moment, day in ((datetime(2013, 1, 1, tzinfo=UTC), "2013-01-01"), (None, "2026-05-06")):
        task = build(environment("/in/{{ run_date }}")).get_task("out")
        task.render_template_fields(context(moment))
        assert task.places["orders.path"] == f"/in/{day}"
        assert task.parameters["run_date"] == day


def test_a_path_with_an_undefined_variable_fails_without_retry() -> None:
    from airflow.sdk.exceptions import AirflowFailException

    task = build(environment("/in/{{ ds }}")).get_task("out")
    with pytest.raises(AirflowFailException) as failed:
        task.render_template_fields(context(None))
    assert "pipeline 'sales': 'ds' is undefined\n  found: in one of '/in/{{ ds }}' (orders.path)" in str(failed.value)
    assert "{{ run_date }} is the day in every run" in str(failed.value)


def test_values_reach_expressions_unchanged() -> None:
    env = StreamExecutionEnvironment("p", params={"who": "x", "where": "[{#%]+"})
    rows = env.from_source(Csv("/in"), "in").filter("name = :who OR name RLIKE '[{#%]+'")
    rows.sink_to(Parquet("/out")).name("out")
    task = build(env).get_task("out")
    given = {"who": "' OR 1=1 -- {{ ds }}", "where": "[{#%]+"}
    task.render_template_fields({**context(None), "params": given})
    assert {name: task.parameters[name] for name in given} == given


def test_asset_events_are_only_for_targets_at_the_assets_place() -> None:
    from graph_compiler.airflow_backend.dag.assets import describe_events, published

    env = environment(target="{{ params.root }}/orders", params={"root": "/lake", "least": 1})
    regions = build(env).get_task("out").regions
    defaults: dict[str, Any] = {"root": "/lake", "least": 1}
    written = published(regions, defaults, ["least"])
    (one,) = written
    assert one.asset is not None
    assert one.asset.uri == "file:///lake/orders"
    (elsewhere,) = published(regions, defaults, ["root"])
    assert elsewhere.asset is None

    events = {one.asset: SimpleNamespace(extra={"mine": 1})}
    output = Output(name="out", kind="sink", rows=3, bytes=9, location="/lake/orders")
    describe_events({"outlet_events": events}, written, [output])  # type: ignore[typeddict-item]  # a double
    (event,) = events.values()
    assert event.extra == {"mine": 1, "rows": 3, "location": "/lake/orders"}
    of_a_table = replace(output, commit=PublishedCommit(kind="snapshot", id="8123456789012345678"))
    describe_events({"outlet_events": events}, written, [of_a_table])  # type: ignore[typeddict-item]  # a double
    assert event.extra["snapshot"] == "8123456789012345678"


def test_sinks_with_the_same_name_have_an_event_each() -> None:
    from graph_compiler.airflow_backend.dag.assets import describe_events, published

    env = StreamExecutionEnvironment("sales")
    orders = env.from_source(Csv("/in", schema="v INT"), "orders")
    for name in ("a", "b"):
        orders.sink_to(Parquet(f"/out/{name}"))
    (task,) = build(env).tasks
    written = published(task.regions, {}, ())
    assets = [each.asset for each in written if each.asset is not None]
    assert {asset.uri for asset in assets} == {"file:///out/a", "file:///out/b"}
    events = {asset: SimpleNamespace(extra={}) for asset in assets}
    staged = Output(name="Sink", kind="staged", rows=9, bytes=9, location="x")
    outputs = [staged, *(replace(staged, kind="sink", rows=n, location=a.uri) for n, a in enumerate(assets))]
    describe_events({"outlet_events": events}, written, outputs)  # type: ignore[typeddict-item]  # a double
    assert [events[asset].extra for asset in assets] == [
        {"rows": 0, "location": assets[0].uri},
        {"rows": 1, "location": assets[1].uri},
    ]


def test_every_event_is_described_though_the_xcom_is_too_small_for_all() -> None:
    from graph_compiler.airflow_backend.task.task_summary import summarize

    env = StreamExecutionEnvironment("sales")
    orders = env.from_source(Csv("/in", schema="v INT"), "orders")
    for number in range(200):
        orders.filter(f"v = {number}").sink_to(Parquet(f"/data/regional/by_country/out_{number}")).name(f"o{number}")
    task: Any = build(env).tasks[0]
    outputs = [
        Output(name=f"o{number}", kind="sink", rows=number, bytes=9, location=f"/data/regional/by_country/out_{number}")
        for number in range(200)
    ]
    report: Any = SimpleNamespace(outputs=outputs, vertices=[])
    assert len(summarize([report], ["/x"])["outputs"]) < 200
    events: Any = defaultdict(lambda: SimpleNamespace(extra={}))
    execution: Any = SimpleNamespace(first=SimpleNamespace(parameters=()))
    task._announce(execution, {"outlet_events": events}, [report])
    assert sorted(event.extra["rows"] for event in events.values()) == list(range(200))


def test_an_asset_of_the_schedule_keeps_its_name() -> None:
    from airflow.sdk import DAG, Asset, AssetAny, CronTriggerTimetable
    from airflow.sdk.definitions.timetables.assets import AssetOrTimeSchedule

    from graph_compiler.airflow_backend import build_task_group

    orders, other = Asset("orders", uri="file:///data/orders"), Asset("other", uri="file:///other")
    own = environment("/data/orders")
    cron = CronTriggerTimetable("@daily", timezone="UTC")
    for schedule in (
        [orders, other],
        AssetAny(other, orders),
        AssetOrTimeSchedule(timetable=cron, assets=[orders, other]),
    ):
        task: Any = build(own, schedule=schedule).get_task("out")
        assert [(asset.name, asset.uri) for asset in task.inlets] == [("orders", "file:///data/orders")]
        assert [asset.name for asset in task.outlets] == ["file:///out"]
        with DAG("mine", schedule=schedule) as dag:
            build_task_group(own)
        assert dag.get_task("sales.out").inlets == [orders]


def test_a_sink_at_an_asset_of_the_schedule_has_its_event() -> None:
    from airflow.sdk import Asset

    mine, other = Asset("mine", uri="file:///out"), Asset("other", uri="file:///other")
    task: Any = build(environment(), schedule=[mine, other]).get_task("out")
    events: Any = defaultdict(lambda: SimpleNamespace(extra={}))
    report: Any = SimpleNamespace(outputs=[Output(name="out", kind="sink", rows=3, bytes=9, location="/out")])
    execution: Any = SimpleNamespace(first=SimpleNamespace(parameters=()))
    task._announce(execution, {"outlet_events": events}, [report])
    assert task.outlets == [mine]
    assert events[mine].extra["rows"] == 3
