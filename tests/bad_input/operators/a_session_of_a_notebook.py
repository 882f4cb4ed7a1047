from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
spark.read.csv("/in/orders.csv").write.parquet("/out")  # noqa: F821
# graph-compiler validate says:
# pipelines/a_session_of_a_notebook.py: pipeline 'a_session_of_a_notebook' has 1 problem
#   it cannot be loaded: `spark.read.csv("/in/orders.csv").write.parquet("/out")  # noqa: F821` raised NameError: name 'spark' is not defined
#     hint: `env.from_source(Csv(path), "orders")` reads, `env.sql("SELECT * FROM {orders}", orders=rows)` queries: there is no session when a pipeline is loaded
#     declared at pipelines/a_session_of_a_notebook.py:4
