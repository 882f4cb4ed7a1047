from graph_compiler import Csv, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x")
# graph-compiler validate says:
# pipelines/no_sink.py: pipeline 'sales' has 1 problem
#   it has no sink, so it would produce nothing
#     hint: end a stream with sink_to(…), or check it with expect(…) and the like
#     declared at pipelines/no_sink.py:3
