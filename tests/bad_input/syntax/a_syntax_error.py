from graph_compiler import StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales"
orders = 1
# graph-compiler validate says:
# pipelines/a_syntax_error.py: pipeline 'a_syntax_error' has 1 problem
#   not valid Python: '(' was never closed
#     declared at pipelines/a_syntax_error.py:3:33
