"""One task that appends its run's rows to a target that all runs share."""

from graph_compiler import Parquet, Range, StreamExecutionEnvironment

env = StreamExecutionEnvironment("shared_target", params={"input": "/in", "output": "/out"})

numbers = env.from_source(Range(0, 100), "numbers")
numbers.select("id", day=":run_date").name("with_day").sink_to(
    Parquet("{{ params.output }}/appended"), mode="append", files=1
).name("appended")
