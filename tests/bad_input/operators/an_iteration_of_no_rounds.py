from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def step(rows):
    return rows


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.iterate(step, max_iterations=0).name("loop").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/an_iteration_of_no_rounds.py: pipeline 'sales' has 1 problem
#   loop: max_iterations is 0
#     allowed: 1 or more
#     declared at pipelines/an_iteration_of_no_rounds.py:10
