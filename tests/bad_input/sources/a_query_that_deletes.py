from graph_compiler import Jdbc, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
query = "/* SELECT */ WITH old AS (SELECT id FROM orders) DELETE FROM orders WHERE id IN (TABLE old)"
orders = env.from_source(Jdbc("jdbc:postgresql://db/shop", query=query), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_query_that_deletes.py: pipeline 'sales' has 1 problem
#   orders: its query is a command (DELETE)
#     allowed: a query of the database: SELECT …
#     hint: a source only reads: the database takes its query in parentheses, as a table
#     declared at pipelines/a_query_that_deletes.py:5
