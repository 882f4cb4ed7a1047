"""An alert in words: one order for all forms, one line for each name, a short cause, and what is repeated."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.explain.alert import (
    AirflowTry,
    Alert,
    FailedTask,
    Link,
    Message,
    MessagePart,
    RepeatedRegion,
    Repetition,
    ReusedResult,
    message_of,
    redacted,
    repetition,
    short_cause,
    some,
)
from graph_compiler.explain.plan.plan_writer import failure_costs
from pipelines.flights import env as flights
from pipelines.word_count_stream import env as words

RUN = "scheduled__2026-01-02T00:00:00+00:00"
ADDRESS = "https://airflow.example.com/dags/nightly/runs/one"
FINAL = FailedTask(
    task_id="emea.daily.report",
    map_index=3,
    pipeline="sales",
    group="emea.daily",
    operator="by_country",
    declared_at="pipelines/sales.py:14",
    cause="[DIVIDE_BY_ZERO] Division by zero: amount / pieces\n  in: SELECT amount / pieces AS price",
    attempt=AirflowTry(try_number=3, tries=3, is_retried=False),
    repetition=Repetition(
        regions=(RepeatedRegion(region="report", operators=("by_country", "out")),),
        kept=("rows",),
        reused=(ReusedResult(name="with_weather", task="with_weather"),),
    ),
    links=(
        Link(label="Log of this try", url=f"{ADDRESS}/tasks/report?try_number=3"),
        Link(label="Plan and attempts", url=f"{ADDRESS}/tasks/report/plugin/x"),
        Link(label="Spark's history server", url="https://spark.example.com/history/app-1/jobs/"),
    ),
)
RETRIED = replace(
    FINAL,
    map_index=None,
    attempt=AirflowTry(try_number=1, tries=3, is_retried=True, seconds=10.0),
    repetition=Repetition(
        regions=(RepeatedRegion(region="report", operators=("by_country", "out")),),
        reused=(ReusedResult(name="with_weather", task="with_weather"),),
    ),
    links=tuple(replace(link, url=link.url.replace("=3", "=1")) for link in FINAL.links),
)
KILLED = FailedTask(
    task_id="load",
    map_index=None,
    pipeline="sales",
    last_seen="with_weather, declared at pipelines/sales.py:9",
    cause="it died without a report: its worker was killed or lost",
    attempt=AirflowTry(try_number=2, tries=3, is_retried=False, why_not="its retry policy says so"),
    repetition=Repetition(regions=(RepeatedRegion(region="load", operators=("rows", "out")),)),
    unknown=("the application in Spark: its driver has not reported one",),
)
NOT_OURS = FailedTask(task_id="wait", map_index=None, cause="AirflowException: Bash command failed")
ALERTS = {
    "final": Alert(dag_id="nightly", run_id=RUN, tasks=(FINAL,)),
    "retry": Alert(dag_id="nightly", run_id=RUN, tasks=(RETRIED,)),
    "killed": Alert(dag_id="sales", run_id=RUN, tasks=(KILLED,), unknown=("the staging root: no connection",)),
    "run": Alert(
        dag_id="nightly",
        run_id=RUN,
        reason="task_failure",
        tasks=(FINAL, KILLED, NOT_OURS),
        others=("one", "two"),
        not_run=4,
        links=(Link(label="Run", url=ADDRESS),),
    ),
}


def everywhere(text: str) -> Alert:
    """Return an alert of a run that has a text in all its places."""

    def spoiled(value: str) -> str:
        return value if value.startswith("http") else text

    return redacted(ALERTS["run"], spoiled)


def facts(part: Message | MessagePart) -> dict[str, str]:
    return {fact.label: fact.value for fact in part.facts}


def test_a_failed_run_has_its_numbers_and_a_part_for_each_task() -> None:
    message = message_of(ALERTS["run"])
    assert message.title == "nightly: the run failed, 5 failed tasks"
    assert facts(message) == {
        "Dag": "nightly",
        "Run": RUN,
        "Reason": "task_failure",
        "Failed": "emea.daily.report [3], load, wait, one and two",
        "Not run": "4 tasks, because of these failures",
    }
    assert [part.title for part in message.parts] == ["Task 'emea.daily.report [3]'", "Task 'load'", "Task 'wait'"]
    assert message_of(Alert(dag_id="d", run_id="r", reason="x")).title == "d: the run failed"
    assert message.parts[2].repeats == ("the whole task: it is not a task of a pipeline",)


def test_a_failed_task_has_its_operator_or_where_it_was_seen_last() -> None:
    final, killed = (message_of(ALERTS[name]) for name in ("final", "killed"))
    assert final.title == "sales: task 'emea.daily.report [3]' failed"
    assert facts(final.parts[0])["Operator"] == "by_country, declared at pipelines/sales.py:14"
    assert final.parts[0].repeats == (
        "region 'report': by_country and out",
        "kept, while their inputs are the same: the finished region 'rows'",
        "read again, not computed again: the staged result 'with_weather' of task 'with_weather'",
    )
    assert facts(killed.parts[0])["Last seen in"] == "with_weather, declared at pipelines/sales.py:9"
    assert killed.parts[0].unknown == (*KILLED.unknown, "the staging root: no connection"), "one list"
    assert killed.parts[0].repeats[-1] == "no staged result is reused: it reads its sources again"
    unclear = replace(KILLED, last_seen=None, repetition=None, cause=None, attempt=AirflowTry(try_number=1))
    (part,) = message_of(Alert(dag_id="d", run_id="r", tasks=(unclear,))).parts
    assert facts(part)["Operator"] == "the failure is not that of a single operator"
    assert (facts(part)["Attempt"], part.cause) == ("1", "not known here: see the log")
    assert part.repeats == ("what it repeats is not known here",)
    done = replace(KILLED, repetition=Repetition(regions=(), kept=("a", "b")))
    (part,) = message_of(Alert(dag_id="d", run_id="r", tasks=(done,))).parts
    assert part.repeats[-1] == "nothing else: all its regions have finished"


@given(st.text(max_size=4_000))
def test_all_words_are_printable_and_all_but_causes_are_one_line(text: str) -> None:
    message = message_of(everywhere(text))
    causes = {part.cause for part in message.parts}

    def look(value: str) -> str:
        assert all(line.isprintable() for line in value.split("\n")), "no line break begins a header"
        assert value in causes or "\n" not in value
        return value

    redacted(message, look)


def test_java_stacks_and_colors_are_left_out_and_a_long_cause_says_so() -> None:
    cause = (
        "\x1b[31morg.apache.spark.SparkException\x1b[0m: Job aborted\n"
        "\tat org.apache.spark.rdd.RDD.$anonfun$collect$1(RDD.scala:1049)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n\t... 12 more\n"
        "Caused by: no space left"
    )
    assert short_cause(cause) == "org.apache.spark.SparkException: Job aborted\nCaused by: no space left"
    assert short_cause("look at it (now)") == "look at it (now)"
    assert short_cause("x" * 2_100).splitlines()[1] == "… (100 more characters are in the log)"
    assert len(short_cause("y\n" * 100).splitlines()) == 31
    assert some([str(n) for n in range(15)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more"


def test_a_try_beyond_its_retries_is_no_contradiction() -> None:
    task = replace(FINAL, attempt=AirflowTry(try_number=5, tries=3, is_retried=False))
    (part,) = message_of(replace(ALERTS["final"], tasks=(task,))).parts
    assert facts(part)["Attempt"] == "5 of 5; Airflow does not try again"


def test_what_is_repeated_is_what_explain_says() -> None:
    compiled = compile_pipeline(flights.pipeline())
    described, costs = describe_pipeline(compiled), failure_costs(compiled)
    assert len(described.regions) > 1
    for region in described.regions:
        others = [each for each in described.regions if each.region_id != region.region_id]
        found = repetition([region], frozenset(), others)
        (again,) = found.regions
        cost = costs[region.region_id]
        assert again.operators == cost.repeated
        assert tuple(each.name for each in found.reused) == cost.reread


def test_a_stream_repeats_one_batch() -> None:
    described = describe_pipeline(compile_pipeline(words.pipeline()))
    task = replace(FINAL, repetition=repetition(described.regions, frozenset(), ()))
    (part,) = message_of(replace(ALERTS["final"], tasks=(task,))).parts
    (region,) = described.regions
    assert part.repeats == (f"region '{region.region_id}': the batch that has failed: those before it stay published",)
