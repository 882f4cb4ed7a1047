from graph_compiler import Jdbc, Orc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
env.from_source(Parquet("/in/a", on_misfit="null"), "a").sink_to(Parquet("/out/a"))
env.from_source(Orc("/in/b", rejects="bad"), "b").sink_to(Orc("/out/b", on_misfit="fail"))
env.from_source(Jdbc("jdbc:sqlite:a", table="b", rejects="bad"), "c").sink_to(Parquet("/out/c"))
# graph-compiler validate says:
# pipelines/misfits_in_typed_files.py: pipeline 'sales' has 4 problems
#   Parquet has no parameter 'on_misfit'
#     allowed: Parquet(path, schema=None, on_schema_change=None, options=(), if_missing=None)
#     hint: its values have types, unlike those of CSV and JSON; on_schema_change says what happens if a type differs from schema=
#     declared at pipelines/misfits_in_typed_files.py:4
#   Orc has no parameter 'rejects'
#     allowed: Orc(path, schema=None, on_schema_change=None, options=(), if_missing=None)
#     hint: its values have types, unlike those of CSV and JSON; to set rows aside, add filter("condition", rejects="tag")
#     declared at pipelines/misfits_in_typed_files.py:5
#   Jdbc has no parameter 'rejects'
#     allowed: Jdbc(url, schema=None, on_schema_change=None, table=None, query=None, user=None, password=None, driver=None, partition_column=None, lower_bound=None, upper_bound=None, num_partitions=None, fetch_size=None, accept_changes_between_reads=False, options=())
#     hint: its values have types, unlike those of CSV and JSON; to set rows aside, add filter("condition", rejects="tag")
#     declared at pipelines/misfits_in_typed_files.py:6
#   Orc has no parameter 'on_misfit'
#     allowed: Orc(path, schema=None, on_schema_change=None, options=(), if_missing=None)
#     hint: its values have types, unlike those of CSV and JSON; on_schema_change says what happens if a type differs from schema=
#     declared at pipelines/misfits_in_typed_files.py:5
