from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sort("day", "amount descending").name("a").top_n(3, "day,").name("b").deduplicate(
    "id", order_by="day NULLS LAST DESC"
).name("c").sql("SELECT (id FROM {input}").name("d").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/orders_with_mistakes.py: pipeline 'sales' has 4 problems
#   a: its order 'amount descending' has 'descending' after amount
#     allowed: columns or expressions, with ASC, DESC, NULLS FIRST or NULLS LAST: "amount DESC NULLS LAST"
#     hint: did you mean 'DESC'?
#     declared at pipelines/orders_with_mistakes.py:5
#   b: its order 'day,' has an empty item
#     allowed: columns or expressions, with ASC, DESC, NULLS FIRST or NULLS LAST: "amount DESC NULLS LAST"
#     declared at pipelines/orders_with_mistakes.py:5
#   c: its order 'day NULLS LAST DESC' has DESC after NULLS LAST
#     allowed: columns or expressions, with ASC, DESC, NULLS FIRST or NULLS LAST: "amount DESC NULLS LAST"
#     hint: ASC or DESC is before NULLS
#     declared at pipelines/orders_with_mistakes.py:5
#   d: its SQL has ( without )
#     allowed: SELECT …, WITH … SELECT, VALUES …, TABLE … or FROM …
#     declared at pipelines/orders_with_mistakes.py:7
