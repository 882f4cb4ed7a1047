from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def step(rows):
    return rows


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.iterate(step).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/iterate_without_an_end.py: pipeline 'sales' has 1 problem
#   after 'orders': iterate was called without max_iterations
#     allowed: iterate(step, *others, max_iterations=…, until=None, deterministic=True, expensive=False, **arguments)
#     declared at pipelines/iterate_without_an_end.py:10
