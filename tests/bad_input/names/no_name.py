from graph_compiler import StreamExecutionEnvironment

env = StreamExecutionEnvironment()
# graph-compiler validate says:
# pipelines/no_name.py: pipeline 'no_name' has 1 problem
#   StreamExecutionEnvironment was called without name
#     allowed: StreamExecutionEnvironment(name, config=None, params=None, schedule=None, description=None, tags=(), airflow=None)
#     declared at pipelines/no_name.py:3
