"""Which places sources and states have in the query of a stream, as Spark numbers them."""

from graph_compiler import Json, Parquet, StreamExecutionEnvironment, TumblingEventTimeWindows
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.parameters.parameter import ParameterValue
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


def test_a_state_knows_the_parameters_before_it() -> None:
    params: dict[str, ParameterValue] = {"country": "at", "least": 1, "behind": 0, "prices": 9}
    env = StreamExecutionEnvironment("bound", config={"execution.runtime-mode": "AUTOMATIC"}, params=params)
    rows = env.from_source(Json("/in", schema="k INT, country STRING, at DATE"), "rows", unbounded=True).uid("rows")
    prices = env.from_source(Json("/prices", schema="k INT, price INT"), "prices").filter("price <> :prices")
    found = rows.filter("country = :country AND at <= :run_date").join(prices, on="k").with_columns(n=":least::int")
    totals = found.key_by("k").aggregate(n="sum(n)").uid("totals").with_columns(more="n - :behind")
    totals.sink_to(Parquet("/out"), mode="merge", keys=["k"]).name("out")
    (region, *_) = (each for each in describe_regions(compile_pipeline(env.pipeline())) if each.stream is not None)
    assert region.stream is not None
    (state,) = region.stream.state
    assert state.parameters == ("country", "least", "prices")
    (bound,) = region.stream.bound({**params, "country": "de"}).state
    assert bound.has_other_values(state.bound(params))
    assert not bound.has_other_values(state), "which values it has is not known"
