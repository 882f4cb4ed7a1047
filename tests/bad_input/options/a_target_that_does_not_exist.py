from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.target": "kubernets", "spark.sql.ansi.enabled": "false"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.slot_sharing_group(SlotSharingGroup("big", target="emr")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_target_that_does_not_exist.py: pipeline 'sales' has 3 problems
#   option 'spark.sql.ansi.enabled' is 'false'
#     allowed: 'true': it changes results, so it is the same for every application
#     declared at pipelines/a_target_that_does_not_exist.py:3
#   the options: there is no execution target 'kubernets'
#     allowed: local, standalone, yarn and kubernetes
#     hint: did you mean 'kubernetes'?
#     declared at pipelines/a_target_that_does_not_exist.py:3
#   slot sharing group 'big': there is no execution target 'emr'
#     allowed: local, standalone, yarn and kubernetes
#     hint: install the package that registers it under graph_compiler.execution_targets
#     declared at pipelines/a_target_that_does_not_exist.py:3
