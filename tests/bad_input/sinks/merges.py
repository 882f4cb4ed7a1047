from graph_compiler import Delta, Iceberg, Merge, Parquet, StreamExecutionEnvironment, Values

env = StreamExecutionEnvironment("sales")
rows = env.from_source(Values([(1, "a")], "id INT, name STRING"), "rows")
rows.sink_to(Parquet("/out/a"), mode="merge", keys="id", merge=Merge(insert_only=True)).name("files")
rows.sink_to(Delta("/out/b"), mode="append", merge=Merge(insert_only=True)).name("appended")
rows.sink_to(Delta("/out/c"), mode="merge", keys="id", merge=Merge(scd_type=2)).name("unordered")
rows.sink_to(Delta("/out/d"), mode="merge", keys="id", merge=Merge(scd_type=3)).name("third")
rows.sink_to(Delta("/out/e"), mode="merge", keys="id", merge=Merge(insert_only=True, apply_as_deletes="gone")).name("both")
rows.sink_to(Iceberg("l.d.t"), mode="merge", keys="id", merge=Merge(sequence_by="ID")).name("twice")
rows.sink_to(Iceberg("l.d.u"), mode="merge", keys="id", merge=Merge(track_history_columns="name")).name("tracked")
rows.sink_to(Iceberg("l.d.w"), mode="merge", keys="id", merge={"insert_only": True}).name("a_mapping")
# graph-compiler validate says:
# pipelines/merges.py: pipeline 'sales' has 9 problems
#   files: merge is set, and Parquet merges rows by their keys only
#     allowed: merge for Iceberg, Delta
#     declared at pipelines/merges.py:5
#   appended: merge is set, and its mode is 'append'
#     allowed: merge with mode='merge'
#     declared at pipelines/merges.py:6
#   unordered: scd_type is 2, and nothing says from when a version is valid
#     allowed: a column: sequence_by="changed_at"
#     declared at pipelines/merges.py:7
#   third: scd_type is 3
#     allowed: 1 or 2
#     declared at pipelines/merges.py:8
#   both: it has insert_only and apply_as_deletes
#     allowed: one of them
#     declared at pipelines/merges.py:9
#   both: there is no column 'gone'
#     allowed: id and name
#     declared at pipelines/merges.py:9
#   twice: a column has several roles: ID and id
#     allowed: a column is a key, or sequence_by, or apply_as_deletes, or tracked
#     declared at pipelines/merges.py:10
#   tracked: track_history_columns is set, and no history is kept
#     allowed: scd_type=2
#     declared at pipelines/merges.py:11
#   after 'rows': sink_to was given merge={'insert_only': True}
#     allowed: Merge(sequence_by="changed_at")
#     declared at pipelines/merges.py:12
