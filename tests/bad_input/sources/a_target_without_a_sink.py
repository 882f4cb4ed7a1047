from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Parquet("/data/totals")
before = env.from_target(totals, "before", schema="account STRING, total BIGINT")
before.sink_to(Parquet("/data/total"))
# graph-compiler validate says:
# pipelines/a_target_without_a_sink.py: pipeline 'bank' has 1 problem
#   before: no sink of this pipeline writes /data/totals
#     allowed: a target of its sinks: /data/total
#     hint: did you mean '/data/total'?
#     declared at pipelines/a_target_without_a_sink.py:5
