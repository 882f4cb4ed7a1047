from graph_compiler import Jdbc, StreamExecutionEnvironment

env = StreamExecutionEnvironment("bank")
totals = Jdbc("jdbc:postgresql://db/bank", table="totals")
before = env.from_target(totals, "before", schema="account STRING, total BIGINT")
before.filter("total > 0").sink_to(totals)
# graph-compiler validate says:
# pipelines/a_table_as_a_target.py: pipeline 'bank' has 1 problem
#   before: the previous version of a target of Jdbc cannot be pinned for retries
#     allowed: files: Parquet, Orc, Csv, Json, Text, Files
#     hint: mode='merge' changes rows by key without reading the target; or keep the rows in files, read their previous version, and write them to the database as well
#     declared at pipelines/a_table_as_a_target.py:5
