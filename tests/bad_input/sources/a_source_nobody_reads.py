from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")

# graph-compiler validate says:
# pipelines/a_source_nobody_reads.py: pipeline 'sales' has 1 problem
#   No operators defined in streaming topology. Cannot execute.
#     hint: end a stream with sink_to(…), or apply an operator to a source
#     declared at pipelines/a_source_nobody_reads.py:3
