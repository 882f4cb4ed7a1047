from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").set_resources({"memory": "2g"}).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/resources_in_a_mapping.py: pipeline 'sales' has 1 problem
#   after 'Filter': set_resources was given {'memory': '2g'}
#     allowed: ResourceSpec(cpu_cores=1, memory="2g") and the like
#     declared at pipelines/resources_in_a_mapping.py:5
