from graph_compiler import Csv, Files, Jdbc, Json, Parquet, Secret, StreamExecutionEnvironment, Table

env = StreamExecutionEnvironment("sales")
url, password = "jdbc:postgresql://db/shop", Secret("shop", "password")
json, orders = Json("/in/orders", schema="id INT"), Jdbc(url, table="orders", password=password)
more, customers = Jdbc(url, table="more", password=password), Jdbc(url, table="customers", password=password)
env.from_source(json, "no_uid", only_new=True).sink_to(Parquet("/out/1"), mode="append")
env.from_source(Csv("/in/b"), "no_schema", only_new=True).uid("b").sink_to(Parquet("/out/2"), mode="append")
by_column = env.from_source(Json("/in/c", schema="id INT"), "files_by_column", only_new="id").uid("c")
by_column.sink_to(Parquet("/out/3"), mode="append")
env.from_source(orders, "rows_without_column", only_new=True).uid("d").sink_to(Parquet("/out/4"), mode="append")
env.from_source(Table("a.b"), "a_table", only_new=True).uid("e").sink_to(Parquet("/out/5"), mode="append")
delta = Files("/in/f", format="delta", schema="id INT")
env.from_source(delta, "a_log", only_new=True).uid("f").sink_to(Parquet("/out/6"), mode="append")
env.from_source(Json("/in/g", schema="id INT"), "lagging", lag="1 day").sink_to(Parquet("/out/7"))
env.from_source(more, "soon", only_new="at", lag="10 min").uid("h").sink_to(Parquet("/out/8"), mode="append")
env.from_source(customers, "blank", only_new=" ").uid("i").sink_to(Parquet("/out/9"), mode="append")
env.from_source(customers, "templated", only_new="{{ ds }}").uid("j").sink_to(Parquet("/out/10"), mode="append")
env.from_source(Json("/in/k", schema="id INT"), "no_sink", only_new=True).uid("k").filter("id > 1")
# graph-compiler validate says:
# pipelines/only_what_is_new.py: pipeline 'sales' has 11 problems
#   no_schema: only_new is set without schema=: a run for which there is no new file has no columns
#     allowed: schema="id BIGINT, amount DECIMAL(9, 2)"
#     hint: `graph-compiler dry-run --infer` prints the columns of the files that are there
#     declared at pipelines/only_what_is_new.py:8
#   files_by_column: only_new is 'id': the position in files is which of them were read
#     allowed: True
#     hint: a column is for Jdbc; filter(…) chooses rows of files
#     declared at pipelines/only_what_is_new.py:9
#   rows_without_column: only_new is True: a database does not say which of its rows are new
#     allowed: the name of a column that only grows: only_new="updated_at"
#     declared at pipelines/only_what_is_new.py:11
#   a_table: only_new is set, and Table has no position
#     allowed: files: Csv, Json, Parquet, Orc, Text, Files of these and XML; Jdbc, by a column; Iceberg, Delta
#     hint: unbounded=True reads topics of Kafka as a stream; a filter on a column of times reads the rows of the run's own day
#     declared at pipelines/only_what_is_new.py:12
#   a_log: only_new is set, and delta has no position
#     allowed: files: Csv, Json, Parquet, Orc, Text, Files of these and XML; Jdbc, by a column; Iceberg, Delta
#     hint: unbounded=True reads topics of Kafka as a stream; a filter on a column of times reads the rows of the run's own day
#     declared at pipelines/only_what_is_new.py:14
#   lagging: it has a lag, and no column that it is behind
#     allowed: only_new="updated_at", lag="10 minutes", for Jdbc
#     declared at pipelines/only_what_is_new.py:15
#   soon: its lag is '10 min'
#     allowed: a length, as '10 minutes' or '1 day', for times; a whole number, as '1000', for numbers
#     declared at pipelines/only_what_is_new.py:16
#   blank: only_new is the empty text
#     allowed: the name of a column that only grows: only_new="updated_at"
#     declared at pipelines/only_what_is_new.py:17
#   templated: only_new is '{{ ds }}': it is never rendered
#     allowed: the name of a column that only grows: only_new="updated_at"
#     declared at pipelines/only_what_is_new.py:18
#   no_uid: it reads only what is new, and has no uid: a change of the pipeline could lose its position
#     allowed: .uid("orders"); in YAML, uid: orders
#     declared at pipelines/only_what_is_new.py:7
#   no_sink: it reads only what is new, and no sink writes its rows: its position moves when they are published
#     hint: end a stream that reads it with sink_to(…)
#     declared at pipelines/only_what_is_new.py:19
