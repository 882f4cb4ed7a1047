from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("paid); DROP TABLE orders; SELECT (1").name("paid").select(
    "id", text="concat(id, '; DROP TABLE orders')", n="1; -- DROP TABLE orders\nDROP TABLE orders"
).name("columns").sort("id;").name("sorted").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/expressions_with_a_second_statement.py: pipeline 'sales' has 2 problems
#   paid: the expression 'paid); DROP TABLE orders; SELECT (1' has several statements
#     allowed: one expression
#     declared at pipelines/expressions_with_a_second_statement.py:5
#   columns: the expression '1; -- DROP TABLE orders\nDROP TABLE orders' has several statements
#     allowed: one expression
#     declared at pipelines/expressions_with_a_second_statement.py:5
