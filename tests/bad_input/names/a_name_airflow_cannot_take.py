from graph_compiler import StreamExecutionEnvironment

env = StreamExecutionEnvironment("daily sales")
# graph-compiler validate says:
# pipelines/a_name_airflow_cannot_take.py: pipeline 'daily sales' has 1 problem
#   'daily sales' cannot be a pipeline's name
#     allowed: letters, digits, '_', '-' and '.', at most 250 of them
#     declared at pipelines/a_name_airflow_cannot_take.py:3
