from graph_compiler import StreamExecutionEnvironment

env = StreamExecutionEnvironment(None)
# graph-compiler validate says:
# pipelines/a_name_that_is_none.py: pipeline 'None' has 1 problem
#   None cannot be a pipeline's name
#     allowed: letters, digits, '_', '-' and '.', at most 250 of them
#     declared at pipelines/a_name_that_is_none.py:3
