from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.join(orders, on="id", how="outer").sink_to(Parquet("/out/a"))
orders.join(orders, on="id", how="left_outer").sink_to(Parquet("/out/b"))
orders.join(orders, on="id", how="leftsemi").sink_to(Parquet("/out/c"))
orders.join(orders, on="id", how="Left Anti").sink_to(Parquet("/out/d"))
orders.join(orders, on="id", how="INNER").sink_to(Parquet("/out/e"))
# graph-compiler validate says:
# pipelines/join_types_of_spark.py: pipeline 'sales' has 5 problems
#   after 'orders': there is no join type 'outer'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'full'?
#     declared at pipelines/join_types_of_spark.py:5
#   after 'orders': there is no join type 'left_outer'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'left'?
#     declared at pipelines/join_types_of_spark.py:6
#   after 'orders': there is no join type 'leftsemi'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'semi'?
#     declared at pipelines/join_types_of_spark.py:7
#   after 'orders': there is no join type 'Left Anti'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'anti'?
#     declared at pipelines/join_types_of_spark.py:8
#   after 'orders': there is no join type 'INNER'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'inner'?
#     declared at pipelines/join_types_of_spark.py:9
