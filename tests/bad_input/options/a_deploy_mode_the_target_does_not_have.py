from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.target": "standalone", "execution.deploy-mode": "cluster"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
big = SlotSharingGroup("big", target="local", deploy_mode="client", executor_memory="4g", executor_cores=2)
orders.slot_sharing_group(big).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_deploy_mode_the_target_does_not_have.py: pipeline 'sales' has 2 problems
#   the options: execution target 'standalone' does not have deploy mode 'cluster': Spark refuses Python applications there
#     allowed: client
#     declared at pipelines/a_deploy_mode_the_target_does_not_have.py:3
#   slot sharing group 'big' sets executor_memory and executor_cores, which execution target 'local' ignores: driver and executor are one JVM; its heap is driver_memory, and its cores are the master's
#     allowed: unset, or another target
#     hint: a pipeline for several targets leaves execution.target to the deployment
#     declared at pipelines/a_deploy_mode_the_target_does_not_have.py:3
