from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("paid) OR (true").name("paid").select(
    "id", first="1 + /*", second="*/ 2", third="concat('a", fourth="')'", fifth="1 -- \\"
).name("columns").cast(id="INT) + (1").name("cast").sort("coalesce(id, 0").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/expressions_with_open_ends.py: pipeline 'sales' has 6 problems
#   paid: the expression 'paid) OR (true' has ) without (
#     allowed: one expression
#     declared at pipelines/expressions_with_open_ends.py:5
#   columns: the expression '1 + /*' has /* without */
#     allowed: one expression
#     declared at pipelines/expressions_with_open_ends.py:5
#   columns: the expression "concat('a" has ' without '
#     allowed: one expression
#     declared at pipelines/expressions_with_open_ends.py:5
#   columns: the expression '1 -- \\' has a comment that continues in the next line
#     allowed: one expression
#     declared at pipelines/expressions_with_open_ends.py:5
#   cast: the expression 'INT) + (1' has ) without (
#     allowed: one expression
#     declared at pipelines/expressions_with_open_ends.py:7
#   Sort: the expression 'coalesce(id, 0' has ( without )
#     allowed: one expression
#     declared at pipelines/expressions_with_open_ends.py:7
