"""A pipeline in a Dag of your own: dependencies, parameters, assets, retries, and what is refused."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import jinja2
import pytest

from graph_compiler import Parquet, StreamExecutionEnvironment, Values
from graph_compiler.errors import InvalidPipelineError

if TYPE_CHECKING:
    from airflow.sdk import DAG

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
PLACE = "/out/{{ params.country }}"


def sales(place: str = PLACE, mode: Any = "overwrite") -> StreamExecutionEnvironment:
    """Declare rows ║ report."""
    params = {"country": "at", "least": {"default": 3, "minimum": 0}, "day": "2026-01-01"}
    env = StreamExecutionEnvironment("sales", params=params)
    rows = env.from_source(Values([(1, "at")], "n INT, c STRING"), "rows").stage("dear")
    kept = rows.filter("n >= :least AND c = :country")
    kept.sink_to(Parquet(place), mode=mode).name("report")
    return env


def dag_with(add: Callable[["DAG"], object], **arguments: Any) -> "DAG":
    from airflow.sdk import DAG

    with DAG("nightly", **{"schedule": None, **arguments}) as dag:
        add(dag)
    return dag


def upstream(dag: "DAG") -> dict[str, set[str]]:
    return {task.task_id: set(task.upstream_task_ids) for task in dag.tasks}


def values(task: Any, map_index: int = -1, **params: object) -> dict[str, str]:
    """Render a task as in a run whose parameters are `params`; return places and parameters."""
    dag_run = SimpleNamespace(logical_date=datetime(2013, 1, 1, tzinfo=UTC), run_after=None, run_type="scheduled")
    ti = SimpleNamespace(map_index=map_index, task=task, get_relevant_upstream_map_indexes=None)
    known = {**dict(task.params), **params}
    context: Any = {"ti": ti, "task_instance": ti, "dag_run": dag_run, "params": known, "task": task}
    task.render_template_fields(context)
    return {**task.places, **task.parameters}


def test_tasks_are_between_those_of_the_dag_and_are_named_after_their_group() -> None:
    from airflow.providers.standard.operators.empty import EmptyOperator

    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        first, last = EmptyOperator(task_id="wait"), EmptyOperator(task_id="mail")
        first >> build_task_group(sales()) >> last
        build_task_group(sales(), "german", params={"country": "de"}) >> last

    dag = dag_with(add)
    assert upstream(dag) == {
        "wait": set(),
        "mail": {"sales.report", "german.report"},
        "sales.rows": {"wait"},
        "sales.report": {"sales.rows"},
        "german.rows": set(),
        "german.report": {"german.rows"},
    }
    assert dag.edge_info["german.rows"] == {"german.report": {"label": "FORWARD · BLOCKING"}}
    assert "graph_compiler" in dag.tags


def test_parameters_are_arguments_then_the_dags_then_the_pipelines() -> None:
    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        build_task_group(sales(), params={"country": "{{ params.of or 'x' }}", "day": date(2026, 2, 3)})

    def report() -> Any:
        return dag_with(add, params={"least": 7, "of": "de"}).get_task("sales.report")

    assert values(report()) == {
        "report.path": "/out/de",
        "run_date": "2013-01-01",
        "country": "de",
        "least": "7",
        "day": "2026-02-03",
    }
    triggered = values(report(), least=9, country="ignored", of="{{ 7 * 6 }}")
    assert (triggered["least"], triggered["country"]) == ("9", "{{ 7 * 6 }}")
    assert triggered["report.path"] == "/out/{{ 7 * 6 }}", "a value is no template"


def test_what_the_dag_does_not_declare_is_a_param_of_the_tasks() -> None:
    from graph_compiler.airflow_backend import build_task_group

    dag = dag_with(lambda _: build_task_group(sales()))
    task: Any = dag.get_task("sales.report")
    assert dict(task.params) == {"country": "at", "least": 3, "day": "2026-01-01"}
    assert task.params.get_param("least").schema["minimum"] == 0
    assert values(task)["report.path"] == "/out/at"


def test_the_dag_may_declare_all_of_them() -> None:
    from airflow.sdk.exceptions import ParamValidationError

    from graph_compiler.airflow_backend import build_task_group, params_of

    dag = dag_with(lambda _: build_task_group(sales()), params=params_of(sales()))
    assert dag.params["least"] == 3
    with pytest.raises(ParamValidationError):
        dag.params["least"] = -1


def test_a_mapped_group_has_the_values_of_each_instance() -> None:
    from airflow.sdk import task_group

    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        @task_group
        def each(country: str) -> None:
            build_task_group(sales(), params={"country": country})

        each.expand(country=["at", "de"])

    dag = dag_with(add)
    task: Any = dag.get_task("each.sales.report")
    assert task.get_closest_mapped_task_group().group_id == "each"
    assert task.arguments.of_the_run.keys() == {"country"}
    assert [asset.uri for asset in task.outlets] == ["file:///out"]
    assert type(task.arguments.of_the_run["country"]).__name__ == "MappedArgument"


def test_a_value_from_another_task_makes_it_an_upstream_task() -> None:
    from airflow.sdk import task

    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        @task
        def country() -> str:
            return "de"

        build_task_group(sales(), params={"country": country()})

    assert upstream(dag_with(add))["sales.rows"] == {"country"}


@pytest.mark.parametrize("value", [None, ["de"], {"a": 1}])
def test_a_value_of_a_run_that_is_no_parameter_fails_without_a_retry(value: object) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    from graph_compiler.airflow_backend.dag.arguments import rendered_arguments

    with pytest.raises(AirflowFailException, match="parameter 'country' is .*\n  allowed: text"):
        rendered_arguments("sales", {"country": value}, {"country": "de"})


NO_TEXT = [(None, ["null", "string"]), (["at", "ch"], "array"), ({"a": 1}, "object")]


@pytest.mark.parametrize(("value", "kind"), NO_TEXT)
def test_what_would_become_text_is_no_value_of_a_param_of_the_dag(value: object, kind: Any) -> None:
    from airflow.sdk import Param
    from airflow.sdk.exceptions import AirflowFailException

    dag_params = {"country": Param(value, type=kind)}
    words = refused({}, env=sales(), params=dag_params, schedule="@daily")
    assert "the Dag's param 'country' is " in words
    assert "allowed: text, an int, a float or a bool\n    hint: the pipeline can declare a sql_type" in words

    from graph_compiler.airflow_backend import build_task_group

    # A run that is triggered may have another value.
    dag = dag_with(lambda _: build_task_group(sales()), params=dag_params)
    assert values(dag.get_task("sales.report"), country="de")["country"] == "de"
    told = "parameter 'country' is .*\\n  allowed: text, .*\\n  hint: it is the param 'country' of the Dag"
    with pytest.raises(AirflowFailException, match=told):
        values(dag.get_task("sales.report"))
    told = "parameter 'country' is .*\\n.*\\n  hint: it is the param 'of' of the Dag"
    of = dag_with(
        lambda _: build_task_group(sales(), params={"country": "{{ params.of }}"}),
        params={"of": Param(value, type=kind)},
    )
    with pytest.raises(AirflowFailException, match=told):
        values(of.get_task("sales.report"))
    argued = dag_with(
        lambda _: build_task_group(sales(), params={"country": "de"}), params=dag_params, schedule="@daily"
    )
    assert values(argued.get_task("sales.report"))["country"] == "de"


def test_a_default_of_a_scheduled_dag_has_the_type_of_the_parameter() -> None:
    words = refused({}, env=sales(), params={"least": "x"}, schedule="@daily")
    assert "the Dag's param 'least' is 'x': parameter 'least' is 'x'" in words


def test_a_parameter_with_a_type_may_be_a_list_or_none() -> None:
    from airflow.sdk.exceptions import AirflowFailException

    from graph_compiler.airflow_backend import build_task_group, params_of

    env = typed()
    dag = dag_with(lambda _: build_task_group(env), params=params_of(env), schedule="@daily")
    assert values(dag.get_task("typed.out"))["ids"] == "[1, 2]"
    assert values(dag.get_task("typed.out"), until=None)["until"] == "null"
    given = {"until": "{{ params.of }}"}
    dag = dag_with(lambda _: build_task_group(env, params=given), params={"of": "2026-01-01"})
    assert values(dag.get_task("typed.out"))["until"] == '"2026-01-01"'
    with pytest.raises(AirflowFailException, match="'of' of the Dag; a param of the Dag that is named 'until' can be"):
        values(dag.get_task("typed.out"), of=None)


def typed() -> StreamExecutionEnvironment:
    params = {
        "ids": [1, 2],
        "since": date(2026, 1, 1),
        "until": {"default": None, "sql_type": "DATE"},
        "rate": {"default": "0.06", "sql_type": "DECIMAL(4, 2)"},
        "least": 4,
    }
    env = StreamExecutionEnvironment("typed", params=params)
    rows = env.from_source(Values([(1, "at")], "n INT, c STRING"), "rows")
    place = "/out/{{ params.since }}/{{ params.ids }}/{{ params.least }}"
    rows.filter("n >= :least AND :until IS NULL").sink_to(Parquet(place)).name("out")
    return env


@pytest.mark.parametrize(
    ("of_dag", "changed"),
    [
        ({}, False),
        ({"least": "4"}, False),  # a Dag may have text for a number
        ({"since": "2026-02-02", "ids": [3], "least": 5}, False),
        ({"rate": "0.060"}, False),
        ({"since": "2026-02-02", "sent": {"since": "2026-02-03"}}, True),
        ({"sent": {"ids": [2, 1]}}, True),
        ({"sent": {"rate": "0.07"}}, False),  # no part of the place
    ],
)
def test_a_sink_whose_place_has_typed_parameters_has_an_event(of_dag: dict[str, Any], changed: bool) -> None:
    from graph_compiler.airflow_backend import build_task_group, params_of
    from graph_compiler.airflow_backend.dag.assets import published
    from graph_compiler.deployment.describe.run_parameters import parse_parameter

    env, sent = typed(), of_dag.pop("sent", {})
    dag = dag_with(lambda _: build_task_group(env), params={**params_of(env), **of_dag})
    task: Any = dag.get_task("typed.out")
    texts, own = values(task, **{**dag.params.dump(), **sent}), dict(env.pipeline().params)
    of_run = {name: parse_parameter(name, texts[name], own) for name in own}
    (written,) = published(task.regions, task.arguments.defaults, task.arguments.changed_by(of_run))
    assert (written.asset is None) is changed
    if written.asset is not None:
        from graph_compiler.declaration.connectors.file_uris import place_uri

        assert written.asset.uri == place_uri(texts["out.path"])


def test_assets_are_those_of_the_arguments() -> None:
    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        build_task_group(sales(), "german", params={"country": "de"})
        build_task_group(sales())

    dag = dag_with(add, params={"country": "ch"})
    assert [asset.uri for asset in dag.get_task("german.report").outlets] == ["file:///out/de"]
    assert [asset.uri for asset in dag.get_task("sales.report").outlets] == ["file:///out/ch"]


def test_a_param_of_the_dag_may_have_no_default_or_one_of_another_type() -> None:
    from airflow.sdk import Param

    from graph_compiler.airflow_backend import build_task_group

    params = {"country": Param(type="string"), "least": "4", "day": Param(None, type=["null"])}
    dag = dag_with(lambda _: build_task_group(sales()), params=params)
    task: Any = dag.get_task("sales.report")
    assert task.arguments.defaults == {"least": "4"}
    assert [asset.uri for asset in task.outlets] == ["file:///out"]


@pytest.mark.parametrize(
    ("of_dag", "of_group", "expected"),
    [
        ({}, {}, (2, timedelta(seconds=10), "airflow")),
        ({"retries": 5, "owner": "me"}, {}, (5, timedelta(seconds=10), "me")),
        ({"retries": 5}, {"retries": 0}, (0, timedelta(seconds=10), "airflow")),
    ],
)
def test_default_arguments_are_the_groups_then_the_dags_then_ours(
    of_dag: dict[str, Any], of_group: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    from graph_compiler.airflow_backend import build_task_group

    dag = dag_with(lambda _: build_task_group(sales(), default_args=of_group), default_args=of_dag)
    task = dag.get_task("sales.report")
    assert (task.retries, task.retry_delay, task.owner) == expected


def refused(*groups: dict[str, Any], env: StreamExecutionEnvironment, **arguments: Any) -> str:
    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        for number, params in enumerate(groups):
            build_task_group(env, f"g{number}", params=params)

    with pytest.raises(InvalidPipelineError) as refusal:
        dag_with(add, **arguments)
    return str(refusal.value)


def test_wrong_arguments_are_refused_together() -> None:
    words = refused({"contry": "at", "least": "x", "day": None}, env=sales())
    assert "pipeline 'sales' has 3 problems" in words
    assert "group 'g0' has argument 'contry', which is no parameter" in words
    assert "did you mean 'country'?" in words
    assert "group 'g0': parameter 'least' is 'x'" in words
    assert "group 'g0': argument 'day' is None" in words
    assert "group 'g0': params.least: is -1" in refused({"least": -1}, env=sales())


def test_two_groups_may_not_overwrite_one_target() -> None:
    words = refused({}, {"least": 4}, env=sales())
    assert "report: 'report' of task 'g0.report' writes the same target in this Dag" in words
    words = refused({"country": "de"}, {}, env=sales(), params={"country": "de"})
    assert "writes the same target" in words


@pytest.mark.parametrize("mode", ["append", "error-if-exists"])
def test_two_groups_may_add_to_one_target(mode: str) -> None:
    from graph_compiler.airflow_backend import build_task_group

    env = sales("/out", mode)
    dag_with(lambda _: [build_task_group(env, "a"), build_task_group(env, "b")])


def test_the_work_for_a_group_does_not_grow_with_the_number_of_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    from graph_compiler.airflow_backend import build_task_group
    from graph_compiler.airflow_backend.dag import overwritten_targets
    from graph_compiler.declaration.connectors.files import FileConnector

    calls = dict.fromkeys(["filled", "key"], 0)
    filled, key = overwritten_targets.filled, FileConnector.place_key

    def count_filled(*arguments: Any) -> Any:
        calls["filled"] += 1
        return filled(*arguments)

    def count_keys(connector: FileConnector) -> Any:
        calls["key"] += 1
        return key(connector)

    monkeypatch.setattr(overwritten_targets, "filled", count_filled)
    monkeypatch.setattr(FileConnector, "place_key", count_keys)

    def calls_of(groups: int) -> dict[str, int]:
        calls.update(filled=0, key=0)
        env = sales()
        dag_with(
            lambda _: [
                build_task_group(env, f"g{number}", params={"country": f"c{number}"}) for number in range(groups)
            ]
        )
        return dict(calls)

    few, twice = calls_of(4), calls_of(8)
    assert 0 < few["filled"] <= twice["filled"] <= 2 * few["filled"] + 1
    assert 0 < few["key"] <= twice["key"] <= 2 * few["key"] + 1


def test_tasks_that_were_in_the_dag_before_are_compared_too() -> None:
    from graph_compiler.airflow_backend import build_dag, build_task_group

    with build_dag(sales(), schedule=None) as dag:
        build_task_group(sales(), "other", params={"country": "de"})
        with pytest.raises(InvalidPipelineError, match="'report' of task 'report' writes the same"):
            build_task_group(sales(), "same")
    assert len(dag.tasks) == 6


SAME = "its group is mapped, and several instances have the same target"
AT_DE = {"country": ["at", "de"]}


@pytest.mark.parametrize(
    ("place", "over", "params", "is_refused"),
    [
        ("/out", AT_DE, None, True),
        ("/out/{{ params.least }}", AT_DE, None, True),
        (PLACE, AT_DE, None, False),
        ("/out/{{ params.country | lower }}", AT_DE, None, False),
        ("/out/{{ params['country'] }}/{{ ds }}", AT_DE, None, False),
        ("/out/{{ ti.map_index }}", AT_DE, None, False),
        ("/out/{{ ti.task_id }}", AT_DE, None, True),
        (PLACE, AT_DE, {"country": "{{ ds }}"}, True),
        (PLACE, AT_DE, {"country": "{{ ti.map_index }}"}, False),
        (PLACE, {"country": ["at", "at"]}, None, True),
        (PLACE, {"country": ["at"], "other": [1, 2]}, None, True),
        (PLACE, {"country": ["at", "de"], "other": [1]}, None, False),
        (PLACE, {"country": {"at": 1, "de": 2}}, None, False),
        (PLACE, {"country": ["at", "de"], "other": range(1000)}, None, True),
        (PLACE, {"country": [1, "1"]}, None, True),
        (PLACE, {"country": [date(2026, 1, 1), "2026-01-01"]}, None, True),
        (PLACE, {"country": ["at", "./at"]}, None, True),
        (PLACE, {"country": ["at", "at/"]}, None, True),
        (PLACE, {"country": ["at", "at/vienna"]}, None, True),
        (PLACE, {"country": ["at", "AT"]}, None, False),
        ("/out/{{ params.country | lower }}", {"country": ["at", "AT"]}, None, True),
        ("/out/{{ params['country'][:1] }}", {"country": ["at", "au"]}, None, True),
        ("/out/{{ params['country'][:1] }}", AT_DE, None, False),
        ("/out/{% if params.country %}x{% endif %}", AT_DE, None, True),
        ("/out/{{ params.country | lower }}/{{ ds }}", {"country": ["at", "AT"]}, None, True),
        ("/out/{{ ds ~ params.country }}", AT_DE, None, False),
    ],
)
def test_the_instances_of_a_mapped_group_may_not_overwrite_each_others_target(
    place: str, over: dict[str, Any], params: dict[str, Any] | None, is_refused: bool
) -> None:
    from airflow.sdk import task_group

    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        @task_group
        def each(country: str, other: int = 0) -> None:  # noqa: ARG001  # what it is mapped over
            build_task_group(sales(place), params=params or {"country": country})

        each.expand(**over)

    if is_refused:
        with pytest.raises(InvalidPipelineError, match=SAME):
            dag_with(add)
    else:
        dag_with(add)


def test_an_instance_knows_over_which_values_it_is_mapped() -> None:
    from airflow.sdk import task_group

    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        @task_group
        def each(country: str) -> None:
            build_task_group(sales(), params={"country": country, "least": 2, "day": "{{ ds }}"})

        each.expand(country=["at", "de"])

    arguments = next(iter(dag_with(add).tasks)).arguments  # type: ignore[union-attr]  # a task of ours
    assert arguments.mapped_over({"country": "ät", "least": 2, "day": "2026-01-01"}) == 'country = "ät"'
    assert arguments.mapped_over({"country": "x" * 999}) == arguments.mapped_over({"country": "x" * 999})
    assert len(arguments.mapped_over({"country": "x" * 999})) < 200
    alone = next(iter(dag_with(lambda _: build_task_group(sales())).tasks)).arguments  # type: ignore[union-attr]
    assert alone.mapped_over({"country": "at"}) is None


@pytest.mark.parametrize("repeated", [False, True])
def test_instances_of_parameter_sets_may_not_repeat_themselves(repeated: bool) -> None:
    from airflow.sdk import task_group

    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        @task_group
        def each(country: str, least: int) -> None:
            build_task_group(sales(), params={"country": country, "least": least})

        second = "at" if repeated else "de"
        each.expand_kwargs([{"country": "at", "least": 1}, {"country": second, "least": 2}])

    if repeated:
        with pytest.raises(InvalidPipelineError, match=SAME):
            dag_with(add)
    else:
        dag_with(add)


@pytest.mark.parametrize(
    ("place", "one", "other", "is_refused"),
    [
        (PLACE, {"country": "{{ params.a }}"}, {"country": "{{ params.b }}"}, False),
        (PLACE, {"country": "{{ params.a }}"}, {"country": "{{ params.a }}"}, True),
        ("/out/{{ params.country | lower }}", {"country": "AT"}, {"country": "DE"}, False),
        ("/out/{{ params.country | lower }}", {"country": "AT"}, {"country": "AT"}, True),
        ("/out/{{ params.country | lower }}", {"country": "AT"}, {"country": "at"}, True),
        ("/out/{{ params.country[:1] }}", {"country": "at"}, {"country": "au"}, True),
        ("/out/{{ ti.task_id }}", {}, {}, False),
        ("/out/{{ ds }}", {}, {}, True),
        (PLACE, {"country": "at"}, {"country": "at/vienna"}, True),
        (PLACE, {"country": "at/"}, {"country": "at"}, True),
        (PLACE, {"country": "at{# x #}"}, {"country": "at{# y #}"}, False),
        ("/out/{# x #}{{ params.country }}", {}, {"country": "at"}, True),
    ],
)
def test_groups_are_told_apart_by_what_a_dag_file_shows(
    place: str, one: dict[str, Any], other: dict[str, Any], is_refused: bool
) -> None:
    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        for name, params in (("a", one), ("b", other)):
            build_task_group(sales(place), name, params=params)

    if is_refused:
        with pytest.raises(InvalidPipelineError, match="writes the same target in this Dag"):
            dag_with(add, params={"a": "x", "b": "y"})
    else:
        dag_with(add, params={"a": "x", "b": "y"})


@pytest.mark.parametrize("value", ["1.10", "1e3", "'de'", "None"])
def test_values_stay_text_in_a_dag_of_native_objects(value: str) -> None:
    from graph_compiler.airflow_backend import build_task_group

    dag = dag_with(lambda _: build_task_group(sales(), params={"country": value}), render_template_as_native_obj=True)
    found = values(dag.get_task("sales.report"))
    assert (found["country"], found["report.path"]) == (value, f"/out/{value}")


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"jinja_environment_kwargs": {"variable_start_string": "<<"}}, "jinja_environment_kwargs"),
        ({"template_undefined": jinja2.Undefined}, "template_undefined=Undefined"),
    ],
)
def test_a_dag_with_other_templates_is_refused(setting: dict[str, Any], words: str) -> None:
    assert f"its Dag 'nightly' has {words}" in refused({}, env=sales(), **setting)


def test_airflows_own_context_has_the_arguments_too() -> None:
    from graph_compiler.airflow_backend import build_task_group

    dag = dag_with(lambda _: build_task_group(sales(), params={"country": "de"}))
    task: Any = dag.get_task("sales.report")
    dag_run = SimpleNamespace(logical_date=datetime(2013, 1, 1, tzinfo=UTC), run_after=None, run_type="scheduled")
    context: Any = {"dag_run": dag_run, "params": dict(task.params)}
    task.render_template_fields(context)
    assert (context["params"]["country"], context["run_date"]) == ("de", "2013-01-01")


def test_outlets_of_other_kinds_are_no_obstacle() -> None:
    from airflow.providers.standard.operators.empty import EmptyOperator
    from airflow.sdk import Asset, AssetAlias

    from graph_compiler.airflow_backend import build_task_group

    def add(_: "DAG") -> None:
        EmptyOperator(task_id="by_alias", outlets=[AssetAlias("x"), Asset("file:///in")])
        build_task_group(sales())

    dag_with(add, schedule=[Asset("file:///in")])


def test_the_group_is_named_after_the_pipeline_as_far_as_airflow_allows_it() -> None:
    from graph_compiler.airflow_backend import build_task_group

    def named(name: str) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment(name)
        rows = env.from_source(Values([(1, "at")], "n INT, c STRING"), "rows")
        rows.sink_to(Parquet(f"/out/{name}")).name("report")
        return env

    dag = dag_with(lambda _: build_task_group(named("shop.sales")))
    assert dag.task_ids == ["shop_sales.report"]
    with pytest.raises(InvalidPipelineError, match=r"cannot be task group[^§]*hint: group_id=…"):
        dag_with(lambda _: build_task_group(named("x" * 210)))


def test_a_catchup_that_overwrites_is_told_as_in_a_dag_of_its_own() -> None:
    from graph_compiler.airflow_backend import build_task_group

    with pytest.warns(UserWarning, match=r"group 'sales': Catchup runs every interval"):
        dag_with(
            lambda _: build_task_group(sales()),
            schedule="@daily",
            start_date=datetime(2026, 1, 1, tzinfo=UTC),
            catchup=True,
        )


def test_a_dag_that_only_assets_trigger_has_no_logical_date() -> None:
    from airflow.sdk import Asset

    words = refused({}, env=sales("/out/{{ ds }}"), schedule=[Asset("file:///in")])
    assert "uses ds, but a run triggered by an asset has no logical date" in words
    words = refused({}, env=sales("/in"), schedule=[Asset("file:///in")])
    assert "it waits for file:///in, which it writes itself" in words


def test_outside_of_a_dag_it_is_refused() -> None:
    from graph_compiler.airflow_backend import build_task_group

    with pytest.raises(RuntimeError, match="inside a dag"):
        build_task_group(sales())
