from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Parquet("/data/totals")
before = env.from_target(totals, "before", schema="account STRING, total BIGINT")
before.filter("total > 0").sink_to(Parquet("/data/positive")).name("positive")
env.from_source(Parquet("/data/new"), "new").sink_to(totals).name("totals")
# graph-compiler validate says:
# pipelines/a_target_that_its_sink_does_not_read.py: pipeline 'bank' has 1 problem
#   totals: it may replace what 'before' reads before that is read: its rows do not come from there
#     hint: let them come from it (a join or a union); or read /data/totals in a pipeline of its own, which runs before this one and writes its rows elsewhere
#     declared at pipelines/a_target_that_its_sink_does_not_read.py:7
