from pipelines.senders import Client, send, send_rows, send_to

from graph_compiler import FunctionSink, Range, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
rows = env.from_source(Range(0, 10), "rows")
rows.sink_to(FunctionSink(send)).name("no_mode")
rows.sink_to(FunctionSink(send), mode="merge", keys="id").name("merged")
rows.sink_to(FunctionSink(send), mode="append", files=2, partition_by="id").name("files")
rows.sink_to(FunctionSink(send_rows), mode="append").name("one_argument")
rows.sink_to(FunctionSink(send_to), mode="append").name("three_arguments")
rows.sink_to(FunctionSink(lambda rows, run: rows.count()), mode="append").name("without_a_name")
rows.sink_to(FunctionSink(Client().send), mode="append").name("method")
rows.sink_to(FunctionSink("pipelines.senders:send"), mode="append").name("text")
rows.sink_to(FunctionSink(send, mode="append")).name("mode_inside")
rows.sink_to(FunctionSink(), mode="append").name("no_function")
rows.sink_to(send, mode="append").name("bare")
env.from_source(FunctionSink(send), "read").sink_to(FunctionSink(send), mode="append").name("written")
# graph-compiler validate says:
# pipelines/functions_as_sinks.py: pipeline 'sales' has 12 problems
#   no_mode: FunctionSink has no mode 'overwrite'
#     allowed: append
#     hint: mode="append"
#     declared at pipelines/functions_as_sinks.py:7
#   merged: FunctionSink has no mode 'merge'
#     allowed: append
#     hint: mode="append"
#     declared at pipelines/functions_as_sinks.py:8
#   files: partition_by is set, but FunctionSink writes no files
#     allowed: file formats
#     declared at pipelines/functions_as_sinks.py:9
#   FunctionSink cannot take this function: calls its function with 2 arguments, but this is send_rows(rows)
#     allowed: a function of (rows, run)
#     declared at pipelines/functions_as_sinks.py:10
#   FunctionSink cannot take this function: calls its function with 2 arguments, but this is send_to(rows, run, address)
#     allowed: a function of (rows, run)
#     declared at pipelines/functions_as_sinks.py:11
#   FunctionSink cannot take this function: a lambda has no name; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/functions_as_sinks.py:12
#   FunctionSink cannot take this function: the method 'Client.send' is not a plain function; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/functions_as_sinks.py:13
#   FunctionSink cannot take this function: 'pipelines.senders:send' is not a plain function; Spark imports functions by name, in another process
#     allowed: a function defined with `def` at the top level of an importable module
#     hint: move it to a module in pipelines/ and pass it by its name there
#     declared at pipelines/functions_as_sinks.py:14
#   FunctionSink has no parameter 'mode'
#     allowed: FunctionSink(function, schema=None, on_schema_change=None)
#     declared at pipelines/functions_as_sinks.py:15
#   FunctionSink was called without function
#     allowed: FunctionSink(function, schema=None, on_schema_change=None)
#     declared at pipelines/functions_as_sinks.py:16
#   bare: the function 'send' is not a connector
#     allowed: Parquet(path), Csv(path), Jdbc(url, table=…), …
#     hint: FunctionSink(send)
#     declared at pipelines/functions_as_sinks.py:17
#   read: FunctionSink can only be written
#     allowed: Csv, Parquet, Json, Orc, Text, Files, Jdbc, Iceberg, Delta, Kafka, Table, FunctionSource, Values, Range, Rate
#     declared at pipelines/functions_as_sinks.py:18
