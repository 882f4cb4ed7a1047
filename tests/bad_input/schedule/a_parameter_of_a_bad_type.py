from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"since": None})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_parameter_of_a_bad_type.py: pipeline 'sales' has 1 problem
#   params.since: its default is None
#     allowed: a str, int, float or bool, or a mapping with one as its 'default'
#     declared at pipelines/a_parameter_of_a_bad_type.py:3
