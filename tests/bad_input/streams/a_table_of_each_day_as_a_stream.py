from graph_compiler import Iceberg, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Iceberg("lake.shop.orders_{{ ds_nodash }}"), "orders", unbounded=True).uid("orders")
orders.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_table_of_each_day_as_a_stream.py: pipeline 'sales' has 1 problem
#   orders: it never ends, and is Iceberg table lake.shop.orders_{{ ds_nodash }}: each run could have another one
#     allowed: a name or a path without templates
#     declared at pipelines/a_table_of_each_day_as_a_stream.py:4
