"""The differences between two versions of a pipeline: a pure function of two values."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from graph_compiler import (
    Csv,
    DataStream,
    Files,
    Jdbc,
    Json,
    Parquet,
    Range,
    Schedule,
    StreamExecutionEnvironment,
    Table,
    Text,
)
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors import Connector
from graph_compiler.deployment.documents.wire import from_json, to_json
from graph_compiler.explain.diff.plan_changes import (
    FactChange,
    OperatorChangeKind,
    PlanDiff,
    ResultChangeKind,
    TaskChange,
    TaskChangeKind,
)
from graph_compiler.explain.diff.plan_diff import plan_diff
from graph_compiler.explain.diff.plan_diff_text import diff_json, diff_summary, diff_text
from graph_compiler.explain.plan.plan import SUMMARY_VERSION, PlanSummary
from tests.harness.compiled_graphs import summary_of

Step = Callable[[DataStream], DataStream]


def nothing(stream: DataStream) -> DataStream:
    return stream


def summary(env: StreamExecutionEnvironment) -> PlanSummary:
    return summary_of(compile_pipeline(env.pipeline()))


def sales(*, clean: str = "x > 0", behind: Step = nothing, name: str = "sales", uid: str | None = None) -> PlanSummary:
    """rows → clean → staged → totals → [behind] → out."""
    env = StreamExecutionEnvironment(name)
    cleaned = env.from_source(Csv("/in"), "rows").filter(clean).name("clean")
    if uid:
        cleaned.uid(uid)
    totals = cleaned.stage("dear").key_by("k").aggregate(n="count(*)").name("totals")
    behind(totals).sink_to(Parquet("/out")).name("out")
    return summary(env)


def kinds(diff: PlanDiff) -> dict[str | None, OperatorChangeKind]:
    return {change.name or change.name_before: change.kind for change in diff.operators}


def test_a_plan_equals_itself_after_serialization() -> None:
    version = sales()
    crossed = from_json(PlanSummary, to_json(version), version=SUMMARY_VERSION)
    found = plan_diff(version, crossed)
    assert crossed == version
    assert found.is_empty
    assert diff_summary(found) == "sales: nothing changed (2 tasks)"
    assert [(result.name, result.kind) for result in found.results] == [("clean", ResultChangeKind.REUSABLE)]


def test_a_change_downstream_leaves_a_staged_result_reusable() -> None:
    found = plan_diff(sales(), sales(behind=lambda s: s.filter("n > 1").name("many")))
    assert kinds(found) == {"many": OperatorChangeKind.ADDED, "out": OperatorChangeKind.AFFECTED}
    assert found.operators[1].facts == (FactChange(fact="reads", before="totals", now="many"),)
    assert [result.kind for result in found.results] == [ResultChangeKind.REUSABLE]
    assert found.tasks == (
        TaskChange(
            kind=TaskChangeKind.CHANGED, task=found.tasks[0].task,
            reasons=("runs many too", "changed: out"),
        ),
    )  # fmt: skip
    assert diff_summary(found) == (
        "sales: operators: 1 added, 1 affected · 1 of 1 staged results reusable · tasks: 1 changed"
    )
    back = plan_diff(sales(behind=lambda s: s.filter("n > 1").name("many")), sales())
    assert kinds(back)["many"] is OperatorChangeKind.REMOVED
    assert "no longer runs many" in back.tasks[0].reasons


def test_a_change_upstream_recomputes_a_staged_result() -> None:
    found = plan_diff(sales(), sales(clean="x > 1"))
    assert kinds(found) == {
        "clean": OperatorChangeKind.CHANGED,
        "totals": OperatorChangeKind.AFFECTED,
        "out": OperatorChangeKind.AFFECTED,
    }
    assert found.operators[0].facts == (FactChange(fact="condition", before="x > 0", now="x > 1"),)
    assert [result.kind for result in found.results] == [ResultChangeKind.RECOMPUTED]
    assert [(task.task, task.reasons) for task in found.tasks] == [
        ("clean", ("changed: clean",)),
        ("out", ("reads different rows of clean",)),
    ]
    assert "condition: x > 0 → x > 1" in diff_text(found)


def test_a_result_with_a_new_id_is_reused_only_with_a_uid() -> None:
    def two_sources(*, other_first: bool, uid: str | None) -> PlanSummary:
        env = StreamExecutionEnvironment("p")
        if other_first:
            env.from_source(Csv("/other"), "other").sink_to(Parquet("/copy")).name("copy")
        rows = env.from_source(Csv("/in"), "rows")
        if uid:
            rows.uid(uid)
        rows.filter("x > 0").name("clean").stage("dear").rebalance().sink_to(Parquet("/out")).name("out")
        return summary(env)

    before, now = (two_sources(other_first=first, uid=None) for first in (False, True))
    found = plan_diff(before, now)
    assert kinds(found)["clean"] is OperatorChangeKind.MOVED
    assert [result.kind for result in found.results] == [ResultChangeKind.MOVED]
    assert "clean is recomputed: same rows, different id" in diff_text(found)
    before, now = (two_sources(other_first=first, uid="rows") for first in (False, True))
    assert [result.kind for result in plan_diff(before, now).results] == [ResultChangeKind.REUSABLE]


def test_operators_without_names_of_their_own_are_paired_by_what_they_compute() -> None:
    def filters(*conditions: str) -> PlanSummary:
        env = StreamExecutionEnvironment("p")
        stream = env.from_source(Csv("/in"), "rows")
        for condition in conditions:
            stream = stream.filter(condition)
        stream.sink_to(Parquet("/out")).name("out")
        return summary(env)

    found = plan_diff(filters("a", "b", "c"), filters("new", "a", "other", "c"))
    changed = {
        change.kind: [str(fact) for fact in change.facts if fact.fact != "reads"]
        for change in found.operators
        if change.kind is not OperatorChangeKind.AFFECTED
    }
    assert set(changed) == {OperatorChangeKind.ADDED, OperatorChangeKind.CHANGED}
    assert changed[OperatorChangeKind.CHANGED] in (
        ["condition: b → new"], ["condition: b → other"],
    )  # fmt: skip


def test_an_operator_with_a_uid_is_recognized_after_any_change() -> None:
    env = StreamExecutionEnvironment("sales")
    cleaned = env.from_source(Csv("/in"), "rows").filter("y > 9").name("sieve").uid("the-filter")
    totals = cleaned.stage("dear").key_by("k").aggregate(n="count(*)").name("totals")
    totals.sink_to(Parquet("/out")).name("out")
    now = summary(env)
    change = plan_diff(sales(uid="the-filter"), now).operators[0]
    assert (change.kind, change.name_before, change.name) == (OperatorChangeKind.CHANGED, "clean", "sieve")
    assert change.id == change.id_before


def test_a_renamed_pipeline_is_a_new_dag_and_reuses_nothing() -> None:
    found = plan_diff(sales(), sales(name="sold"))
    assert not found.is_empty
    assert [result.kind for result in found.results] == [ResultChangeKind.RECOMPUTED]
    assert diff_summary(found).startswith("sales → sold: 0 of 1 staged results reusable")
    assert "a different name is a different Dag" in diff_text(found)


def test_tasks_appear_and_vanish_with_cuts() -> None:
    def cut(*, is_staged: bool) -> PlanSummary:
        env = StreamExecutionEnvironment("p")
        rows = env.from_source(Csv("/in"), "rows").filter("x > 0").name("clean")
        (rows.stage("dear") if is_staged else rows).sink_to(Parquet("/out")).name("out")
        return summary(env)

    found = plan_diff(cut(is_staged=False), cut(is_staged=True))
    assert [(task.kind, task.task) for task in found.tasks] == [
        (TaskChangeKind.ADDED, "clean"),
        (TaskChangeKind.CHANGED, "out"),
    ]
    assert "no longer runs rows and clean" in found.tasks[1].reasons
    assert "reads clean from staging" in found.tasks[1].reasons
    assert [result.kind for result in found.results] == [ResultChangeKind.ADDED]
    back = plan_diff(cut(is_staged=True), cut(is_staged=False))
    assert (TaskChangeKind.REMOVED, "clean") in [(task.kind, task.task) for task in back.tasks]
    assert [result.kind for result in back.results] == [ResultChangeKind.REMOVED]


def test_a_task_that_gets_another_tasks_region_is_changed_and_the_other_removed() -> None:
    def reports(sharing: str) -> PlanSummary:
        env = StreamExecutionEnvironment("p", config={"execution.task-sharing": sharing})
        clean = env.from_source(Csv("/in"), "rows").filter("x > 0").name("clean").stage("slow")
        for name in ("by_day", "by_user"):
            clean.filter("x > 1").name(f"{name}_rows").sink_to(Parquet(f"/{name}")).name(name)
        return summary(env)

    found = plan_diff(reports("false"), reports("true"))
    changed, removed = found.tasks
    assert (changed.kind, changed.task) == (TaskChangeKind.CHANGED, "by_day")
    assert "runs by_user_rows and by_user too, moved from task 'by_user'" in changed.reasons
    assert any(reason.startswith("shared by regions: ") for reason in changed.reasons)
    assert (removed.kind, removed.task) == (TaskChangeKind.REMOVED, "by_user")
    assert [result.kind for result in found.results] == [ResultChangeKind.REUSABLE]
    assert plan_diff(reports("true"), reports("true")).is_empty


def test_session_settings_are_reported_once() -> None:
    before = sales()
    now = from_json(PlanSummary, to_json(before).replace('"UTC"', '"Europe/Berlin"'), version=SUMMARY_VERSION)
    assert plan_diff(before, now).session == (
        FactChange(fact="spark.sql.session.timeZone", before="UTC", now="Europe/Berlin"),
    )


def test_changed_run_parameters_are_reported_for_equal_plans() -> None:
    def version(root: str, least: int, schedule: Schedule | None) -> PlanSummary:
        params = {"least": least, "output": f"{root}/out"}
        env = StreamExecutionEnvironment("sales", params=params, schedule=schedule)
        rows = env.from_source(Csv("/in", schema="x INT"), "rows").filter("x > :least")
        rows.sink_to(Parquet("{{ params.output }}"))
        return summary_of(compile_pipeline(env.pipeline()), root)

    before = version("/old", 1, None)
    assert plan_diff(before, version("/new", 1, None)).is_empty, "it only lies elsewhere"
    found = plan_diff(before, version("/new", 2, Schedule(cron="@daily")))
    assert not found.is_empty
    assert found.run == (
        FactChange(fact="params.least", before="1", now="2"),
        FactChange(fact="schedule.cron", before=None, now="@daily"),
    )
    assert diff_summary(found) == "sales: parameters or schedule changed"
    assert "parameters and schedule\n  ~ params.least: 1 → 2" in diff_text(found)


def test_differences_in_long_expressions_are_marked() -> None:
    start, end = "CASE WHEN temp IS NULL THEN 'unknown' ", " THEN 'rain' ELSE 'dry' END AS weather"
    before, now = (f"{start}WHEN precip > {number}{end}" for number in (0, 10))
    change = FactChange(fact="weather", before=before, now=now)
    assert str(change) == (
        "weather: … 'unknown' WHEN precip > «0» THEN 'rain' ELSE 'dry' …"
        " → … 'unknown' WHEN precip > «10» THEN 'rain' ELSE 'dry' …"
    )
    short = FactChange(fact="condition", before="x > 0", now="x > 1")
    assert str(short) == "condition: x > 0 → x > 1"


NOW = 'fail the task, unless on_misfit="null" or sources.strict: false'
STRICTER = {
    "CSV": (Csv("/in"), ("records that do not fit", "NULL, padded or cut", NOW)),
    "CSV with a schema": (
        Csv("/in", schema="a INT"),
        ("records that do not fit", "checked in the columns that are read", NOW),
    ),
    "JSON": (Json("/in"), ("records that do not fit", "NULL", NOW)),
    "text": (Text("/in"), ("records that do not fit", "with letters replaced", NOW)),
    "CSV by its name": (Files("/in", format="CSV"), ("records that do not fit", "NULL, padded or cut", NOW)),
    "XML": (Files("/in", format="xml"), ("records that do not fit", "NULL", NOW)),
    "Parquet": (Parquet("/in"), ("columns", "of one file", "of all files, unless sources.strict: false")),
    "Parquet with a schema": (
        Parquet("/in", schema="a INT"),
        ("files in folders below", "left out", "refuse the source, unless sources.strict: false"),
    ),
    "Parquet of all folders": (Parquet("/in", schema="a INT", options={"recursiveFileLookup": "true"}), None),
    "Parquet that is read as before": (
        Parquet("/in", options={"MergeSchema": "false", "RecursiveFileLookup": "TRUE"}),
        None,
    ),
    "misfits are NULL": (Csv("/in", on_misfit="null"), None),
    "misfits are set aside": (Json("/in", rejects="bad"), None),
    "a table": (Table("t"), None),
    "a table format": (Files("/in", format="Delta"), None),
    "numbers": (Range(0, 3), None),
}


def reading(connector: Connector, **options: str) -> PlanSummary:
    env = StreamExecutionEnvironment("sales", config=options)
    rows = env.from_source(connector, "rows")
    rows.sink_to(Parquet("/out")).name("out")
    rows.filter("true").name("all").sink_to(Parquet("/all")).name("all_out")
    return summary(env)


def of_before(version: PlanSummary) -> PlanSummary:
    """Return the summary as versions before 0.2 wrote it."""
    document = json.loads(to_json(version))
    del document["strict_sources"]
    return from_json(PlanSummary, json.dumps(document), version=SUMMARY_VERSION)


@pytest.mark.parametrize(("connector", "change"), STRICTER.values(), ids=STRICTER)
def test_a_source_that_is_read_more_strictly_is_reported_once(
    connector: Connector, change: tuple[str, str, str] | None
) -> None:
    now = reading(connector)
    found = plan_diff(of_before(now), now)
    if change is None:
        assert found.is_empty
        return
    fact = FactChange(fact=change[0], before=change[1], now=change[2])
    assert [(each.kind, each.name, each.facts) for each in found.operators] == [
        (OperatorChangeKind.AFFECTED, "rows", (fact,))
    ]
    assert not found.is_empty
    assert diff_text(found).count(str(fact)) == 1
    assert plan_diff(now, now).is_empty
    assert plan_diff(now, of_before(now)).is_empty


def test_an_option_of_the_deployment_reads_as_before_and_nothing_is_reported() -> None:
    lenient = reading(Csv("/in"), **{"sources.strict": "false"})
    assert not any(change.facts for change in plan_diff(of_before(lenient), lenient).operators)
    strict = reading(Csv("/in"))
    found = plan_diff(lenient, strict)
    assert [fact.now for change in found.operators for fact in change.facts] == [NOW]


def test_a_source_of_a_different_format_was_not_read_before() -> None:
    found = plan_diff(of_before(reading(Json("/in"))), reading(Csv("/in")))
    assert "records that do not fit" not in diff_text(found)


def test_values_of_an_ignored_schema_were_null() -> None:
    """Such a declaration is refused now, and is in plans of before only."""
    now = reading(Json("/in", schema="a INT"))
    old = of_before(now)
    source, *others = old.operators
    ignored = (*source.facts, ("connector.on_schema_change", "ignore"))
    old = replace(old, operators=(replace(source, facts=ignored), *others))
    (change,) = plan_diff(old, now).operators
    assert change.facts[-1] == FactChange(fact="records that do not fit", before="NULL", now=NOW)


def written(sink: Connector, mode: str = "overwrite", *, gains: bool = True, kind: str = "DOUBLE") -> PlanSummary:
    """rows → [is_long] → out, which merges by k."""
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in", schema=f"k INT, x {kind}"), "rows")
    given = rows.with_columns(is_long="x > 5") if gains else rows
    keys = ("k",) if mode == "merge" else ()
    given.sink_to(sink, mode=mode, keys=keys).name("out")  # type: ignore[arg-type]  # one of the modes
    return summary(env)


ADDED = [
    (Parquet("/out"), "overwrite", "its target has these columns after the run"),
    (Parquet("/out"), "error-if-exists", "its target has these columns after the run"),
    (Parquet("/out"), "append", "refused if its target does not have it (on_schema_change='fail')"),
    (Parquet("/out"), "merge", "refused if its target does not have it"),
    (Parquet("/out"), "overwrite-partitions", "refused if its target does not have it"),
    (Parquet("/out", on_schema_change="evolve"), "append", "its target gets it, with NULL in the rows"),
    (Parquet("/out", on_schema_change="evolve"), "overwrite", "its target gets it"),
    (Parquet("/out", on_schema_change="ignore"), "append", "its values are not written"),
    (Parquet("/out", on_schema_change="fail"), "overwrite", "refused if its target does not have it"),
    (Parquet("/out", schema="k INT, x DOUBLE"), "overwrite", "refused if schema= does not have it"),
    (Jdbc("jdbc:x://h/x", table="t"), "overwrite", "refused if its table does not have it"),
    (Jdbc("jdbc:x://h/x", table="t", on_schema_change="evolve"), "append", "a table is never altered"),
    (Table("t", on_schema_change="ignore"), "append", "its values are not written"),
    (Json("/out"), "overwrite", "its target has these columns after the run"),
    (Json("/out"), "append", "its connector decides"),
]  # fmt: skip


@pytest.mark.parametrize(("sink", "mode", "then"), ADDED)
def test_a_sink_that_gains_a_column_shows_whether_its_target_takes_it(sink: Connector, mode: str, then: str) -> None:
    if mode == "overwrite-partitions":
        env = [StreamExecutionEnvironment("p") for _ in range(2)]
        versions = []
        for each, gains in zip(env, (False, True), strict=True):
            rows = each.from_source(Csv("/in", schema="k INT, x DOUBLE"), "rows")
            rows = rows.with_columns(is_long="x > 5") if gains else rows
            rows.sink_to(sink, mode=mode, partition_by="k").name("out")  # type: ignore[arg-type]  # one of the modes
            versions.append(summary(each))
    else:
        versions = [written(sink, mode, gains=False), written(sink, mode)]
    found = plan_diff(*versions)
    (column,) = found.operators[-1].columns
    assert (column.before, column.now) == (None, "is_long BOOLEAN")
    assert then in column.then
    assert f"      gains is_long BOOLEAN: {column.then}" in diff_text(found).splitlines()
    changes = plan_diff(*reversed(versions)).operators
    (back,) = (column for change in changes for column in change.columns)
    assert str(back).startswith("loses is_long BOOLEAN: ")


def test_a_column_with_another_type_is_shown_and_one_with_an_unknown_type_is_not() -> None:
    sink = Parquet("/out")
    found = plan_diff(written(sink, "append", gains=False), written(sink, "append", gains=False, kind="INT"))
    (column,) = found.operators[-1].columns
    assert str(column) == "gets x INT, before x DOUBLE: refused if its target has another type"
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in", schema="k INT, x DOUBLE"), "rows")
    rows.with_columns(x="f(x)").sink_to(sink, mode="append").name("out")
    assert plan_diff(written(sink, "append", gains=False), summary(env)).operators[-1].columns == ()


def test_a_sink_with_unknown_columns_says_nothing() -> None:
    found = plan_diff(sales(), sales(behind=lambda s: s.sql("SELECT *, 1 AS one FROM {input}")))
    assert all(change.columns == () for change in found.operators)
    wide = ", ".join(f"c{number} INT" for number in range(501))
    env = StreamExecutionEnvironment("p")
    env.from_source(Csv("/in", schema=wide), "rows").sink_to(Parquet("/out")).name("out")
    assert summary(env).operators[-1].columns == ()


def test_columns_with_expressions_are_compared_by_name() -> None:
    def with_columns(**columns: str) -> PlanSummary:
        return sales(behind=lambda s: s.with_columns(**columns).name("more"))

    found = plan_diff(with_columns(a="n > 1", b="n, 2"), with_columns(first="1", a="n > 1", b="n, 3"))
    (more,) = (change for change in found.operators if change.name == "more")
    assert more.facts == (
        FactChange(fact="columns.b", before="n, 2", now="n, 3"),
        FactChange(fact="columns.first", before=None, now="1"),
    )


def counted(*sums: str, behind: Step = nothing, sources: str = "rows", copies: bool = False) -> PlanSummary:
    """Return a stream of rows with some sums, each of which keeps state."""
    env = StreamExecutionEnvironment("stream", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = [
        env.from_source(Json(f"/in/{name}", schema="k INT, n INT"), name, unbounded=True).uid(name)
        for name in sources.split()
    ]
    read = rows[0].union(*rows[1:]) if rows[1:] else rows[0]
    for number, total in enumerate(sums):
        name, _, expression = total.partition("=")
        totals = read.key_by("k").aggregate(total=expression).name(name).uid(name)
        out = behind(totals).sink_to(Parquet(f"/out/{number}"), mode="merge", keys=["k"])
        out.name(f"to {name}")
    if copies:
        read.sink_to(Parquet("/out/copies"), mode="append").name("copies")
    return summary(env)


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        (
            counted("a=sum(n)"),
            counted("a=sum(n)", behind=lambda totals: totals.with_columns(more="total + 1")),
            ["rows: the checkpoint is continued", "a: its state is kept"],
        ),
        (
            counted("a=sum(n)"),
            counted("a=count(n)"),
            [
                "rows: refused, also from a savepoint: 'a' has changed, or something before it",
                "a: its state does not fit any more",
            ],
        ),
        (
            counted("a=sum(n)", "b=max(n)"),
            counted("b=max(n)"),
            [
                "rows: refused; continued from a savepoint with --allow-non-restored-state: 'a' is not in the pipeline "
                "any more, or has another place in it",
                "b: its state is kept, at another place",
                "a: its state is dropped",
            ],
        ),
        (
            counted("a=sum(n)"),
            counted("a=sum(n)", "b=max(n)"),
            [
                "rows: refused, also from a savepoint: 'b' is new",
                "a: its state is kept",
                "b: it has no state yet, and cannot begin one in this stream",
            ],
        ),
        (
            counted("a=sum(n)"),
            counted("a=sum(n)", copies=True),
            [
                "rows: refused; continued from a savepoint: its sources have other places in the query, or other "
                "branches read them",
                "a: its state is kept",
            ],
        ),
        (
            counted(copies=True, sources="rows"),
            counted(copies=True, sources="rows others"),
            ["others and rows: refused, also from a savepoint: 'others' is new"],
        ),
    ],
)
def test_which_state_survives_a_change(before: PlanSummary, now: PlanSummary, lines: list[str]) -> None:
    diff = plan_diff(before, now)
    text = diff_text(diff)
    found = text.partition("\nstreams\n")[2].partition("\n\n")[0].splitlines()
    assert [line.strip() for line in found] == lines
    is_continued = "is continued" in lines[0]
    assert ("0 of 1 stream continued" in diff_summary(diff)) is not is_continued
    (stream,) = json.loads(json.dumps(diff_json(diff)))["streams"]
    assert (stream["continuation"] == "CHECKPOINT") is is_continued


def test_streams_of_another_name_are_others_and_those_that_are_equal_are_no_difference() -> None:
    stream = counted("a=sum(n)")
    assert plan_diff(stream, stream).is_empty
    assert plan_diff(stream, replace(stream, pipeline="other")).streams == ()
    earlier = replace(stream, streams=())
    assert plan_diff(earlier, stream).is_empty, "an earlier version has not recorded it"
