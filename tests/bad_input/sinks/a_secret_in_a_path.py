from graph_compiler import Csv, Parquet, Secret, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet(Secret("s3", "bucket"))).name("report")
# graph-compiler validate says:
# pipelines/a_secret_in_a_path.py: pipeline 'sales' has 1 problem
#   report: path is Secret(conn_id='s3', field='bucket')
#     allowed: text, or several values, each text
#     declared at pipelines/a_secret_in_a_path.py:5
