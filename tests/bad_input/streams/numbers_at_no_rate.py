from graph_compiler import Parquet, Rate, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
rate = Rate(0, start="1969-12-31", advance="1 month", schema="value INT")
orders = env.from_source(rate, "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/numbers_at_no_rate.py: pipeline 'sales' has 4 problems
#   orders: it has 0 rows per batch
#     allowed: 1 to 1,000,000,000
#     declared at pipelines/numbers_at_no_rate.py:5
#   orders: its start is '1969-12-31'
#     allowed: '2024-01-01', '2024-01-01T12:00:00Z'
#     declared at pipelines/numbers_at_no_rate.py:5
#   orders: its advance is '1 month'
#     allowed: '1 minute', '0 seconds', '1 day'
#     declared at pipelines/numbers_at_no_rate.py:5
#   orders: it has a schema
#     allowed: its columns: timestamp TIMESTAMP, value BIGINT
#     declared at pipelines/numbers_at_no_rate.py:5
