from pathlib import Path
from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet(Path("/out"))).name("report")
# graph-compiler validate says:
# pipelines/a_path_that_is_a_path_object.py: pipeline 'sales' has 1 problem
#   report: path is PosixPath('/out')
#     allowed: text, or several values, each text
#     declared at pipelines/a_path_that_is_a_path_object.py:6
