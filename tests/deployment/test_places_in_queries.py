"""Which places sources and states have in the query of a stream, as Spark numbers them."""

from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions


def test_late_rows_are_read_again_and_keep_no_state() -> None:
    env = StreamExecutionEnvironment("late", config={"execution.runtime-mode": "AUTOMATIC"})
    rows = env.from_source(Json("/in", schema="k INT, at TIMESTAMP"), "rows", unbounded=True).uid("rows")
    marked = rows.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 minute")
    windows = marked.key_by("k").window(TumblingEventTimeWindows("at", "1 hour")).side_output_late_data("late")
    counts = windows.aggregate(n="count(*)").uid("windows")
    counts.sink_to(Parquet("/out/counts"), mode="append").name("counts")
    counts.get_side_output("late").sink_to(Parquet("/out/late"), mode="append").name("late")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    assert region.stream is not None
    (state,) = region.stream.state
    assert (region.stream.reads, region.stream.keeps) == (("rows", "rows"), (state.operator_id,))
