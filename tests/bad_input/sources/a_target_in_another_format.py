from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
before = env.from_target(Csv("/data/totals"), "before", schema="account STRING, total BIGINT")
before.filter("total > 0").sink_to(Parquet("/data/totals"))
# graph-compiler validate says:
# pipelines/a_target_in_another_format.py: pipeline 'bank' has 1 problem
#   before: it reads csv, and its sink 'Sink' writes parquet
#     hint: pass the same connector to from_target(…) and sink_to(…)
#     declared at pipelines/a_target_in_another_format.py:4
