from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"out": "/out"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("{{ params.output }}/sales")).name("report")
# graph-compiler validate says:
# pipelines/an_unknown_parameter_in_a_path.py: pipeline 'sales' has 1 problem
#   report: parameter 'output' is not declared
#     allowed: out and run_date
#     hint: did you mean 'out'?
#     declared at pipelines/an_unknown_parameter_in_a_path.py:5
