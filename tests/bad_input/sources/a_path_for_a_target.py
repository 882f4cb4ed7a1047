from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
before = env.from_target("/data/totals", "before", schema="account STRING, total BIGINT")
before.filter("total > 0").sink_to(Parquet("/data/totals"))
# graph-compiler validate says:
# pipelines/a_path_for_a_target.py: pipeline 'bank' has 1 problem
#   before: '/data/totals' is not a connector
#     allowed: Parquet(path), Csv(path), Jdbc(url, table=…), …
#     declared at pipelines/a_path_for_a_target.py:4
