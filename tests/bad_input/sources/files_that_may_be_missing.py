from graph_compiler import Csv, Files, Jdbc, Json, Parquet, StreamExecutionEnvironment, Table, Text

env = StreamExecutionEnvironment("sales")
out = Parquet("/out/a", schema="id INT", if_missing="empty")
env.from_source(Csv("/in/a", schema="id INT", if_missing="emtpy"), "misspelled").sink_to(out)
env.from_source(Json("/in/b", if_missing="empty"), "no_schema").sink_to(Parquet("/out/b"))
env.from_source(Parquet("/in/c", schema="id INT", if_missing="ignore"), "unknown").sink_to(Parquet("/out/c"))
env.from_source(Text("in/d", schema="value STRING", if_missing="empty"), "relative").sink_to(Text("/out/d"))
table = Files(path="/in/e", format="delta", schema="id INT", if_missing="empty")
env.from_source(table, "table").sink_to(Parquet("/out/e"))
asked = Csv("/in/f", schema="id INT", if_missing="{{ params.missing }}")
env.from_source(asked, "templated").sink_to(Parquet("/out/f"))
env.from_source(Csv("/in/g", schema="id INT", if_missing=True), "boolean").sink_to(Parquet("/out/g"))
env.from_source(Jdbc("jdbc:sqlite:a", table="b", if_missing="empty"), "database").sink_to(Parquet("/out/h"))
env.from_source(Table("days", if_missing="empty"), "catalog").sink_to(Parquet("/out/i"))
env.from_source(Csv("/in/j", schema="id INT", missing="empty"), "keyword").sink_to(Parquet("/out/j"))
# graph-compiler validate says:
# pipelines/files_that_may_be_missing.py: pipeline 'sales' has 11 problems
#   misspelled: if_missing is 'emtpy'
#     allowed: fail and empty
#     hint: did you mean 'empty'?
#     declared at pipelines/files_that_may_be_missing.py:5
#   Sink: if_missing is for sources; this is a sink
#     hint: leave out if_missing
#     declared at pipelines/files_that_may_be_missing.py:5
#   no_schema: if_missing is 'empty', but no schema is declared
#     allowed: a schema with it: a path without files shows no columns
#     hint: declare schema=, or leave out if_missing
#     declared at pipelines/files_that_may_be_missing.py:6
#   unknown: if_missing is 'ignore'
#     allowed: fail and empty
#     declared at pipelines/files_that_may_be_missing.py:7
#   relative: if_missing is 'empty', and its path 'in/d' is a relative path: it depends on the driver's folder
#     allowed: an absolute path or a URI
#     declared at pipelines/files_that_may_be_missing.py:8
#   table: if_missing is 'empty', and a delta table that is missing has no version to read
#     hint: leave out if_missing
#     declared at pipelines/files_that_may_be_missing.py:10
#   templated: if_missing is '{{ params.missing }}'
#     allowed: fail and empty
#     declared at pipelines/files_that_may_be_missing.py:12
#   boolean: if_missing is True
#     allowed: text
#     declared at pipelines/files_that_may_be_missing.py:13
#   Jdbc has no parameter 'if_missing'
#     allowed: Jdbc(url, schema=None, on_schema_change=None, table=None, query=None, user=None, password=None, driver=None, partition_column=None, lower_bound=None, upper_bound=None, num_partitions=None, fetch_size=None, accept_changes_between_reads=False, options=())
#     hint: it is for sources that are files
#     declared at pipelines/files_that_may_be_missing.py:14
#   Table has no parameter 'if_missing'
#     allowed: Table(name, schema=None, on_schema_change=None, run_column=None, attempt_column=None, options=())
#     hint: it is for sources that are files
#     declared at pipelines/files_that_may_be_missing.py:15
#   Csv has no parameter 'missing'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None, header=True, null_value='')
#     hint: did you mean 'if_missing'?
#     declared at pipelines/files_that_may_be_missing.py:16
