"""Lists, days, decimals and NULL in Airflow's trigger form: what a Param accepts, and what a task makes of it."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.parameters.typed_value import TypedValue

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]


class Model(BaseModel):
    """The same parameters as those of MAPPING."""

    ids: list[int] = [1, 2]
    tags: list[str] = ["a"]
    days: list[date] = [date(2026, 1, 31)]
    until: date | None = None
    least: int | None = Field(None, ge=0)
    rate: Decimal = Field(Decimal("0.06"), json_schema_extra={"sql_type": "DECIMAL(4, 2)"})
    since: date = Field(date(2026, 1, 1), json_schema_extra={"sql_type": "DATE"})


MAPPING: dict[str, Any] = {
    "ids": [1, 2],
    "tags": ["a"],
    "days": [date(2026, 1, 31)],
    "until": {"default": None, "sql_type": "DATE"},
    "least": {"default": None, "sql_type": "BIGINT", "minimum": 0},
    "rate": {"default": "0.06", "sql_type": "DECIMAL(4, 2)"},
    "since": date(2026, 1, 1),
}


def declared(params: Any) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("typed", params=params)
    env.from_source(Csv("/in/{{ params.since }}"), "in").filter("array_contains(:ids, id)").sink_to(
        Parquet("/out")
    ).name("out")
    return env


@pytest.fixture(params=[Model, MAPPING], ids=["model", "mapping"])
def env(request: pytest.FixtureRequest) -> StreamExecutionEnvironment:
    return declared(request.param)


# What the form sends for a list of numbers is JSON, for one of texts its lines, for an empty field null.
@pytest.mark.parametrize(
    ("name", "sent", "is_accepted"),
    [
        ("ids", [3], True),
        ("ids", [], True),
        ("ids", ["3"], False),
        ("ids", None, False),
        ("tags", ["a", "b c"], True),
        ("tags", "a", False),
        ("days", ["2026-02-28"], True),
        ("until", "2026-02-28", True),
        ("until", None, True),
        ("until", 5, False),
        ("least", None, True),
        ("least", 3, True),
        ("least", -1, False),
        ("rate", "0.07", True),
        ("rate", 0.07, False),
        ("since", "2026-02-28", True),
        ("since", None, False),
    ],
)
def test_a_param_accepts_what_the_form_sends(
    env: StreamExecutionEnvironment, name: str, sent: object, is_accepted: bool
) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    from graph_compiler.airflow_backend import params_of

    param = params_of(env)[name]
    if is_accepted:
        assert param.resolve(sent) == sent
        return
    with pytest.raises(ParamValidationError):
        param.resolve(sent)


def values_of(env: StreamExecutionEnvironment, **sent: object) -> dict[str, object]:
    """Return the values of a try, which its descriptors have, after Airflow has rendered the task."""
    from airflow.sdk.definitions.param import ParamsDict

    from graph_compiler.airflow_backend import build_dag
    from graph_compiler.deployment.describe.run_parameters import check_parameters, parse_parameter

    task: Any = build_dag(env).tasks[0]
    params = ParamsDict({**task.dag.params, **sent})
    run = type("Run", (), {"logical_date": None, "run_after": date_time(), "run_type": "manual"})
    task.render_template_fields({"dag_run": run, "params": params.dump()})
    pipeline = env.pipeline()
    defaults = {"run_date": "", **dict(pipeline.params)}
    rendered: dict[str, str] = task.parameters
    values = {name: parse_parameter(name, text, defaults) for name, text in rendered.items()}
    check_parameters(pipeline, values)
    return {name: value.python if isinstance(value, TypedValue) else value for name, value in values.items()}


def date_time() -> Any:
    from datetime import UTC, datetime

    return datetime(2026, 1, 1, tzinfo=UTC)


def test_a_task_gets_the_defaults_and_what_was_sent(env: StreamExecutionEnvironment) -> None:
    defaults = {
        "ids": [1, 2],
        "tags": ["a"],
        "days": [date(2026, 1, 31)],
        "until": None,
        "least": None,
        "rate": Decimal("0.06"),
        "since": date(2026, 1, 1),
    }
    found = values_of(env)
    assert {name: found[name] for name in defaults} == defaults
    odd = ["it's", 'a "b"', "{{ 7 * 6 }}", "<&>", "ä\n"]
    found = values_of(env, ids=[], tags=odd, until="2026-02-28", least=3, rate="-1.10")
    assert (found["ids"], found["tags"], found["until"]) == ([], odd, date(2026, 2, 28))
    assert (found["least"], found["rate"]) == (3, Decimal("-1.10"))


def test_what_no_param_refuses_fails_the_first_task_with_the_name(env: StreamExecutionEnvironment) -> None:
    from graph_compiler.errors import ParameterError

    with pytest.raises(ParameterError, match=r"parameter 'rate' is .*\n  allowed: a number that DECIMAL\(4,2\)"):
        values_of(env, rate="0.123")


def test_a_dag_with_typed_params_is_serialized(env: StreamExecutionEnvironment) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    from graph_compiler.airflow_backend import build_dag

    document = DagSerialization.to_dict(build_dag(env))
    names = {name for name, *_ in document["dag"]["params"]}
    assert names >= {"ids", "until", "rate"}


def test_arguments_of_a_task_group_are_typed(env: StreamExecutionEnvironment) -> None:
    from airflow.sdk import DAG

    from graph_compiler.airflow_backend import build_task_group
    from graph_compiler.errors import InvalidPipelineError

    given = {"ids": [7], "until": None, "since": date(2026, 5, 1), "rate": Decimal("0.5")}
    with DAG("own"):
        group = build_task_group(env, params=given)
    children: list[Any] = list(group.children.values())
    literals = children[0].arguments.literals
    assert {name: value.python for name, value in literals.items()} == given
    with DAG("other"), pytest.raises(InvalidPipelineError, match="argument 'ids' is"):
        build_task_group(env, params={"ids": {"a": 1}})
