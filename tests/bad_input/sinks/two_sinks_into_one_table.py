from graph_compiler import Csv, StreamExecutionEnvironment, Table

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Table("shop.sales")).name("a")
orders.filter("x").sink_to(Table("shop.sales")).name("b")
# graph-compiler validate says:
# pipelines/two_sinks_into_one_table.py: pipeline 'sales' has 1 problem
#   b: it writes table shop.sales, and 'a' writes table shop.sales (pipelines/two_sinks_into_one_table.py:5)
#     hint: give each its own target; union(…) combines two streams into one sink
#     declared at pipelines/two_sinks_into_one_table.py:6
