"""What `explain` says of a stream."""

from graph_compiler import Parquet, StreamExecutionEnvironment, Text
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text


def test_a_stream_says_what_a_run_publishes_and_what_continues() -> None:
    env = StreamExecutionEnvironment("words", config={"execution.runtime-mode": "AUTOMATIC"})
    lines = env.from_source(Text("/in"), "lines", unbounded=True).uid("lines")
    lines.key_by("value").aggregate(n="count(*)").sink_to(Parquet("/out"), mode="merge", keys=["value"])
    compiled = compile_pipeline(env.pipeline())
    said = explain_text(plan_of(compiled, describe_pipeline(compiled)))
    assert "    lines: reads files as they arrive" in said
    assert "    Aggregate: continues its state from batch to batch" in said
    assert "  a stream: each run publishes what has arrived, batch by batch; a failure repeats one batch" in said
    assert "a failure at its end" not in said
