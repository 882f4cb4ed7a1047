from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment

env = StreamExecutionEnvironment(
    "sales", config={"pipeline.max-parallelism": 128, "spark.sql.shuffle.partitions": 400}
)
orders = env.from_source(Csv("/in", schema="id INT"), "orders")
big = SlotSharingGroup("big", conf={"spark.sql.adaptive.coalescePartitions.initialPartitionNum": 129})
orders.key_by("id").aggregate(n="count(*)").name("counts").slot_sharing_group(big).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/more_partitions_than_the_maximum.py: pipeline 'sales' has 2 problems
#   option 'spark.sql.shuffle.partitions' is '400'
#     allowed: at most 128: pipeline.max-parallelism
#     hint: lower it, or raise pipeline.max-parallelism
#     declared at pipelines/more_partitions_than_the_maximum.py:3
#   slot sharing group 'big' sets spark.sql.adaptive.coalescePartitions.initialPartitionNum to '129'
#     allowed: at most 128: pipeline.max-parallelism
#     hint: lower it, or raise pipeline.max-parallelism
#     declared at pipelines/more_partitions_than_the_maximum.py:3
