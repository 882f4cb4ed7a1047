from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out")).name("all")
orders.filter("late").sink_to(Parquet("/out/late")).name("late")
# graph-compiler validate says:
# pipelines/a_sink_inside_another.py: pipeline 'sales' has 1 problem
#   late: it writes /out/late, and 'all' writes /out (pipelines/a_sink_inside_another.py:5)
#     hint: give each its own target; union(…) combines two streams into one sink
#     declared at pipelines/a_sink_inside_another.py:6
