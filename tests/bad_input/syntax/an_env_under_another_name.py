from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

environment = StreamExecutionEnvironment("sales")
environment.from_source(Csv("/in"), "orders").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_env_under_another_name.py: pipeline 'an_env_under_another_name' has 1 problem
#   pipelines/an_env_under_another_name.py has no StreamExecutionEnvironment called 'env'
#     hint: 'environment' is one: rename it to 'env'
#     declared at pipelines/an_env_under_another_name.py:1
