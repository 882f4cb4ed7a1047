from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.filter("x").name("paid").slot_sharing_group(SlotSharingGroup("big", conf={"spark.master": "yarn"})).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_group_that_names_the_master.py: pipeline 'sales' has 1 problem
#   paid: in its slot sharing group 'big' conf has 'spark.master'
#     allowed: conn_id=… or option airflow.conn-id: the Airflow connection has the master
#     declared at pipelines/a_group_that_names_the_master.py:5
