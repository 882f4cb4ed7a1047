from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
totals = orders.key_by("id").aggregate(n="sum(n)").expect("positive", "n > 0", on_violation="drop")
totals.sink_to(Parquet("/out"), mode="merge", keys="id")
# graph-compiler validate says:
# pipelines/a_total_that_a_contract_drops.py: pipeline 'sales' has 1 problem
#   positive: it may leave out rows of 'Aggregate', whose values change: those that it had before would stay
#     allowed: select, with_columns, drop, rename and cast behind an aggregate
#     hint: filter and combine the rows before the aggregate, or those of the target when it is read
#     declared at pipelines/a_total_that_a_contract_drops.py:5
