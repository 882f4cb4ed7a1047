"""What a finished task reports to Airflow."""

import json
from dataclasses import replace

import pytest

from graph_compiler.deployment.documents.report import (
    VERSION,
    ActionMetrics,
    ExecutionReport,
    OperatorMetrics,
    Output,
    Phase,
    PublishedCommit,
    SlowestTask,
    VertexMetrics,
)
from graph_compiler.deployment.documents.wire import to_json
from graph_compiler.errors import DescriptorError
from graph_compiler.identifiers import JobVertexId

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]

ACTION = ActionMetrics(
    name="flights · late_routes: prepare",
    operator="late_routes",
    vertex_id=JobVertexId("v"),
    phase=Phase.PREPARE,
    seconds=1.5,
    stage_ids=(3, 5),
    tasks=4,
    failed_tasks=1,
    repeated_stages=0,
    input_bytes=4096,
    spilled_bytes=0,
    shuffle_read_bytes=2048,
    shuffle_written_bytes=2048,
    slowest_task=None,
)


def vertex(name: str, rows: int | None, seconds: float | None, *, may_be_too_high: bool = False) -> VertexMetrics:
    operator = OperatorMetrics(name=name, rows_in=None, rows_out=rows, side_rows=(), may_be_too_high=may_be_too_high)
    return VertexMetrics(vertex_id=JobVertexId("v"), name=name, operators=(operator,), seconds=seconds)


def report(*vertices: VertexMetrics) -> ExecutionReport:
    output = Output(kind="sink", name="late_routes", location="/out/late", rows=1438, bytes=9000)
    return ExecutionReport(
        version=VERSION,
        application_id="local-1",
        contracts=(),
        outputs=(output,),
        vertices=vertices,
        actions=(ACTION,),
        reads=(),
        recomputed=(),
        failure=None,
    )


def test_each_output_vertex_and_action_has_a_line_in_the_log() -> None:
    from graph_compiler.airflow_backend.task.task_summary import log_lines

    vertices = (
        vertex("flown", None, None),
        vertex("joined", 7, None, may_be_too_high=True),
        vertex("lateness", 1438, 1.5),
    )
    assert list(log_lines(report(*vertices))) == [
        "sink late_routes: 1,438 rows, 9,000 bytes, /out/late",
        "vertex flown: unknown rows",
        "vertex joined: at most 7 rows",
        "vertex lateness: 1,438 rows, 1.5 s",
        "action flights · late_routes: prepare: 1.5 s, stages 3, 5, 4 tasks, 1 failed tasks, 4,096 bytes read, "
        "2,048 bytes shuffled",
    ]


def test_a_tables_commit_is_in_the_log_and_in_the_summary() -> None:
    from graph_compiler.airflow_backend.task.task_summary import log_lines, summarize

    commit = PublishedCommit(kind="snapshot", id="8123456789012345678", removed_rows=3)
    of_table = replace(report(), outputs=(replace(report().outputs[0], location="Iceberg table a.b.c", commit=commit),))
    first = next(iter(log_lines(of_table)))
    assert first.endswith("bytes, Iceberg table a.b.c, snapshot 8123456789012345678, which removes 3 rows")
    assert summarize([of_table], ["/x"])["outputs"][0]["commit"] == {"snapshot": "8123456789012345678"}
    assert ExecutionReport.from_json(to_json(of_table)) == of_table


@pytest.mark.parametrize(
    ("median", "longest", "ending"),
    [
        (4.0, 12.04, "bytes shuffled, slowest task 12.0 s, median 4.0 s"),
        (4.0, 12.0, "bytes shuffled"),  # not three times as long
        (1.0, 10.0, "bytes shuffled"),  # not long
    ],
)
def test_a_task_that_delayed_others_is_in_the_log(median: float, longest: float, ending: str) -> None:
    from graph_compiler.airflow_backend.task.task_summary import log_lines

    slowest = SlowestTask(stage_id=5, tasks=4, median_seconds=median, longest_seconds=longest)
    skewed = replace(report(), actions=(replace(ACTION, slowest_task=slowest),))
    assert [*log_lines(skewed)][-1].endswith(f" {ending}")


def test_a_summary_too_large_for_airflows_database_says_what_it_leaves_out() -> None:
    from graph_compiler.airflow_backend.task.task_summary import MOST_BYTES, summarize

    many = report(*(vertex("v" * 250, number, None) for number in range(200)))
    summary = summarize([many], ["/staging/descriptor.json"])
    assert len(json.dumps(summary)) <= MOST_BYTES
    assert summary["vertices"][0] == {"name": "v" * 250, "rows": 0, "seconds": None}
    left = 200 - len(summary["vertices"])
    assert 100 < left < 200
    assert summary["left_out"] == (
        f"{left} of 200 vertices and 0 of 1 outputs, which are in report.json beside /staging/descriptor.json"
    )


def test_a_summary_has_the_outputs_and_vertices_of_all_reports() -> None:
    from graph_compiler.airflow_backend.task.task_summary import MOST_BYTES, summarize

    first = report(*(vertex("v" * 250, number, None) for number in range(100)))
    second = replace(first, outputs=(replace(first.outputs[0], name="by_day"),))
    places = ["/staging/a/descriptor.json", "/staging/b/descriptor.json"]
    few = summarize([replace(each, vertices=each.vertices[:1]) for each in (first, second)], places)
    assert [output["name"] for output in few["outputs"]] == ["late_routes", "by_day"]
    assert (len(few["vertices"]), few["left_out"]) == (2, None)
    summary = summarize([first, second], places)
    assert len(json.dumps(summary)) <= MOST_BYTES
    left = 200 - len(summary["vertices"])
    assert summary["left_out"] == (
        f"{left} of 200 vertices and 0 of 2 outputs, which are in report.json beside {places[0]} and {places[1]}"
    )


def test_a_report_of_another_version_is_refused() -> None:
    with pytest.raises(DescriptorError, match="the ExecutionReport has version 1; this program reads"):
        ExecutionReport.from_json('{"type": "ExecutionReport", "version": 1}')
