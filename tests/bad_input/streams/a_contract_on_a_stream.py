from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.expect_rows("enough", at_least=1)
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_contract_on_a_stream.py: pipeline 'sales' has 1 problem
#   enough: it is about all rows of a run, and those of a stream never end
#     allowed: expect, which is about single rows
#     hint: a batch pipeline of what is new: only_new=True in place of unbounded=True
#     declared at pipelines/a_contract_on_a_stream.py:5
