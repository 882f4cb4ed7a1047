from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Parquet("/data/totals")
before = env.from_target(totals, "before", schema="account STRING, total BIGINT", backfill="lastest")
before.filter("total > 0").sink_to(totals)
# graph-compiler validate says:
# pipelines/a_misspelt_backfill.py: pipeline 'bank' has 1 problem
#   there is no backfill 'lastest'
#     allowed: refuse and latest
#     hint: did you mean 'latest'?
#     declared at pipelines/a_misspelt_backfill.py:5
