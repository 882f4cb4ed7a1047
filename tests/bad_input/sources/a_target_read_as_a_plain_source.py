from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Parquet("/data/totals")
before = env.from_source(totals, "before")
before.filter("total > 0").sink_to(totals)
# graph-compiler validate says:
# pipelines/a_target_read_as_a_plain_source.py: pipeline 'bank' has 1 problem
#   Sink: it replaces /data/totals, and 'before' reads /data/totals
#     hint: write elsewhere: a retry would read what the first attempt wrote. from_target(…) reads what was there before the run
#     declared at pipelines/a_target_read_as_a_plain_source.py:6
