from graph_compiler import Csv, Files, Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
old = Csv("/in/a", schema="id INT", on_schema_change="ignore")
env.from_source(old, "old").sink_to(Parquet("/out/a"))
env.from_source(Json("/in/b", on_misfit="nul"), "typo").sink_to(Parquet("/out/b"))
env.from_source(Csv("/in/c", on_misfit="fail", rejects="bad"), "both").sink_to(Parquet("/out/c"))
env.from_source(Files("/in/d", format="avro", on_misfit="null"), "typed").sink_to(Parquet("/out/d"))
env.from_source(Files("/in/e", format="xml", rejects="bad"), "xml").sink_to(Parquet("/out/e"))
lenient = Csv("/in/f", options={"mode": "DROPMALFORMED", "columnNameOfCorruptRecord": "c"})
env.from_source(lenient, "lenient").sink_to(Csv("/out/f", on_misfit="fail"))
# graph-compiler validate says:
# pipelines/what_does_not_fit.py: pipeline 'sales' has 8 problems
#   old: on_schema_change='ignore' applies only to columns; values that do not fit no longer become NULL
#     allowed: on_misfit="null" with it, as before; on_misfit="fail"; or rejects="bad", a side output
#     declared at pipelines/what_does_not_fit.py:5
#   typo: on_misfit is 'nul'
#     allowed: fail and null
#     hint: did you mean 'null'?
#     declared at pipelines/what_does_not_fit.py:6
#   both: it has rejects, and on_misfit='fail'
#     allowed: one of them: records that do not fit go to a side output, fail the task, or have NULLs
#     declared at pipelines/what_does_not_fit.py:7
#   typed: avro files have types, so on_misfit does not apply
#     hint: leave out on_misfit; on_schema_change says what happens if a type differs from schema=
#     declared at pipelines/what_does_not_fit.py:8
#   xml: records of xml files cannot be set aside
#     allowed: rejects= for csv, json and text
#     declared at pipelines/what_does_not_fit.py:9
#   lenient: option 'mode' is 'DROPMALFORMED': Spark would apply it only to the columns that are read
#     allowed: on_misfit="fail", on_misfit="null", or rejects="bad"
#     declared at pipelines/what_does_not_fit.py:11
#   lenient: option 'columnNameOfCorruptRecord' has no effect: records that do not fit go to a side output
#     allowed: rejects="bad"
#     declared at pipelines/what_does_not_fit.py:11
#   Sink: on_misfit is for sources; this is a sink
#     hint: leave out on_misfit
#     declared at pipelines/what_does_not_fit.py:11
