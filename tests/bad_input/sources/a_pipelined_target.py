from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Parquet("/data/totals")
before = env.from_target(totals, "before", schema="account STRING, total BIGINT")
before.pipelined("it is small").filter("total > 0").sink_to(totals)
# graph-compiler validate says:
# pipelines/a_pipelined_target.py: pipeline 'bank' has 1 problem
#   Filter: its input from 'before' is declared pipelined ("it is small"), but has to be staged, because 'before' reads what a sink then replaces: retries read this copy of all its rows
#     hint: remove pipelined(…), or what makes staging necessary
#     declared at pipelines/a_pipelined_target.py:6
