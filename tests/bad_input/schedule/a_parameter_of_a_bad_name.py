from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"late-after": 15})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_parameter_of_a_bad_name.py: pipeline 'sales' has 1 problem
#   params.late-after: 'late-after' cannot be a parameter's name
#     allowed: a valid Python name
#     declared at pipelines/a_parameter_of_a_bad_name.py:3
