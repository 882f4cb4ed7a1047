from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
names = env.from_source(Json("/in/names", schema="id INT, name STRING"), "names")
orders.expect("positive", "n > 0").join(names, on="id").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_contract_before_a_join.py: pipeline 'sales' has 1 problem
#   Join: it reads rows that 'positive' has checked, each batch by itself
#     allowed: operators on single rows, other contracts and sinks behind a contract of a stream
#     hint: move the contract behind it
#     declared at pipelines/a_contract_before_a_join.py:6
