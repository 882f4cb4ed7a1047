from dataclasses import replace
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
a = orders.filter("x").name("a")
b = a.filter("y").name("b")
env.add(replace(env.transformation(a.id), inputs=(b.id,)))
b.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_cycle.py: pipeline 'sales' has 1 problem
#   a: it reads its own output: a → b → a
#     hint: a dataflow has no cycles; remove one of these inputs
#     declared at pipelines/a_cycle.py:6
