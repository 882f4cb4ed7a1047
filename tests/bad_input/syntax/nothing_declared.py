from graph_compiler import StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
# graph-compiler validate says:
# pipelines/nothing_declared.py: pipeline 'sales' has 1 problem
#   No operators defined in streaming topology. Cannot execute.
#     hint: end a stream with sink_to(…), or apply an operator to a source
#     declared at pipelines/nothing_declared.py:3
