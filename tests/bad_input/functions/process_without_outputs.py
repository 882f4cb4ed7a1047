from graph_compiler import Csv, Parquet, StreamExecutionEnvironment


def split(rows):
    return rows, {}


env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.process(split).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/process_without_outputs.py: pipeline 'sales' has 1 problem
#   after 'orders': process was called without outputs
#     allowed: process(function, outputs=…, deterministic=True, expensive=False, **arguments)
#     declared at pipelines/process_without_outputs.py:10
