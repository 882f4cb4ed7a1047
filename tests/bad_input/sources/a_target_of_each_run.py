from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Parquet("/data/totals/{{ ds }}")
before = env.from_target(totals, "before", schema="account STRING, total BIGINT")
before.filter("total > 0").sink_to(totals)
# graph-compiler validate says:
# pipelines/a_target_of_each_run.py: pipeline 'bank' has 1 problem
#   before: its target '/data/totals/{{ ds }}' depends on ds: each run has its own, so there is no previous version
#     allowed: a path that is the same in all runs; {{ params.x }} may be in it
#     hint: write to one path with mode='overwrite-partitions', or read the folder of an earlier run with from_source(…)
#     declared at pipelines/a_target_of_each_run.py:5
