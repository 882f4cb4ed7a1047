from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Csv("/out", options=["sep"])).name("report")
# graph-compiler validate says:
# pipelines/options_in_a_list.py: pipeline 'sales' has 1 problem
#   report: options is ['sep']
#     allowed: a mapping: {"sep": ";"}
#     declared at pipelines/options_in_a_list.py:5
