from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
big = SlotSharingGroup("big", deploy_mode="Cluster", conn_id="", target=7)
orders.name("orders").slot_sharing_group(big).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_group_with_an_unknown_deploy_mode.py: pipeline 'sales' has 3 problems
#   orders: in its slot sharing group 'big' deploy_mode is 'Cluster'
#     allowed: client, cluster
#     declared at pipelines/a_group_with_an_unknown_deploy_mode.py:4
#   orders: in its slot sharing group 'big' conn_id is ''
#     allowed: a name, or unset
#     declared at pipelines/a_group_with_an_unknown_deploy_mode.py:4
#   orders: in its slot sharing group 'big' target is 7
#     allowed: a name, or unset
#     declared at pipelines/a_group_with_an_unknown_deploy_mode.py:4
