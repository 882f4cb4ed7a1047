from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.slot_sharing_group(SlotSharingGroup("big", conf=["spark.x"])).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_group_with_a_list.py: pipeline 'sales' has 1 problem
#   orders: in its slot sharing group 'big' conf has "['spark.x']"
#     allowed: names that begin with 'spark.': spark-submit drops others
#     declared at pipelines/a_group_with_a_list.py:4
