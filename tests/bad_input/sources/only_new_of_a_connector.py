from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Json("/in/orders", schema="id INT", only_new=True), "orders")
orders.sink_to(Parquet("/out"))
env.from_source(Json("/in/more", schema="id INT"), "more", new_only=True).sink_to(Parquet("/out/more"))
env.from_source(Json("/in/late", schema="id INT"), "late", only_new=1).sink_to(Parquet("/out/late"))
# graph-compiler validate says:
# pipelines/only_new_of_a_connector.py: pipeline 'sales' has 3 problems
#   Json has no parameter 'only_new'
#     allowed: Json(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None)
#     hint: it belongs to the source: from_source(Json(path, schema=…), "orders", only_new=True)
#     declared at pipelines/only_new_of_a_connector.py:4
#   from_source has no parameter 'new_only'
#     allowed: from_source(source, source_name, only_new=False, lag=None, unbounded=False)
#     declared at pipelines/only_new_of_a_connector.py:6
#   from_source was given only_new=1
#     allowed: True or False, or text
#     declared at pipelines/only_new_of_a_connector.py:7
