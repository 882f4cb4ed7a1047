from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Parquet("/data/totals")
before = env.from_target(totals, schema="account STRING, total BIGINT")
before.filter("total > 0").sink_to(totals)
# graph-compiler validate says:
# pipelines/a_target_without_a_name.py: pipeline 'bank' has 1 problem
#   from_target was called without source_name
#     allowed: from_target(target, source_name, schema=…, backfill='refuse')
#     declared at pipelines/a_target_without_a_name.py:5
