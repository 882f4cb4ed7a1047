from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
env.from_sources(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_misspelt_call_of_the_environment.py: pipeline 'a_misspelt_call_of_the_environment' has 1 problem
#   it cannot be loaded: `env.from_sources(Csv("/in/orders.csv"), "orders").sink_to(Parquet("/out"))` raised AttributeError: 'StreamExecutionEnvironment' object has no attribute 'from_sources'
#     hint: did you mean 'from_source'?
#     declared at pipelines/a_misspelt_call_of_the_environment.py:4
