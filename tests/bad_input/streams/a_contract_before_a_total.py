from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
totals = orders.expect("positive", "n > 0").key_by("id").aggregate(n="sum(n)")
totals.sink_to(Parquet("/out"), mode="merge", keys="id")
# graph-compiler validate says:
# pipelines/a_contract_before_a_total.py: pipeline 'sales' has 1 problem
#   Aggregate: it reads rows that 'positive' has checked, each batch by itself
#     allowed: operators on single rows, other contracts and sinks behind a contract of a stream
#     hint: move the contract behind it
#     declared at pipelines/a_contract_before_a_total.py:5
