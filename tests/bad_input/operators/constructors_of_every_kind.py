from datetime import date

from graph_compiler import (
    Csv,
    Jdbc,
    Parquet,
    ResourceSpec,
    Schedule,
    Secret,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)

env = StreamExecutionEnvironment("sales", schedule=Schedule(corn="@daily", start=date(2026, 1, 1)))
orders = env.from_source(Csv("/in/orders.csv"), "orders")
unused = Parquet()
database = Jdbc("jdbc:h2:mem:db", table="t", password=Secret(connection="db"))
env.from_source(database, "customers").filter(3).sink_to(Parquet("/out/customers"))
big = SlotSharingGroup("big", driver_memroy="2g")
orders.filter("amount > 0").slot_sharing_group(big).sink_to(Parquet("/out/a"))
orders.filter("amount > 1").set_resources(ResourceSpec(1, "2g")).sink_to(Parquet("/out/b"))
orders.window_all(TumblingEventTimeWindows("at", lenght="1 hour")).aggregate(n="count(*)")
orders.filter("amount > :least").sink_to(Parquet("/out/e"))
# graph-compiler validate says:
# pipelines/constructors_of_every_kind.py: pipeline 'sales' has 7 problems
#   Schedule has no parameter 'corn'
#     allowed: Schedule(cron=None, every=None, assets=(), start=None, end=None, timezone='UTC', catchup=False)
#     hint: did you mean 'cron'?
#     declared at pipelines/constructors_of_every_kind.py:15
#   Parquet was called without path
#     allowed: Parquet(path, schema=None, on_schema_change=None, options=(), if_missing=None)
#     declared at pipelines/constructors_of_every_kind.py:17
#   Secret has no parameter 'connection'
#     allowed: Secret(conn_id, field='password')
#     declared at pipelines/constructors_of_every_kind.py:18
#   SlotSharingGroup has no parameter 'driver_memroy'
#     allowed: SlotSharingGroup(name, driver_memory=None, driver_cores=None, executor_memory=None, executor_cores=None, executor_instances=None, conf=<factory>, conn_id=None, target=None, deploy_mode=None)
#     hint: did you mean 'driver_memory'?
#     declared at pipelines/constructors_of_every_kind.py:20
#   ResourceSpec was given too many arguments: 1, '2g'
#     allowed: ResourceSpec(cpu_cores=…, memory=…, off_heap_memory='0m', extended_resources=<factory>)
#     declared at pipelines/constructors_of_every_kind.py:22
#   TumblingEventTimeWindows has no parameter 'lenght'
#     allowed: TumblingEventTimeWindows(time, size, offset=None)
#     declared at pipelines/constructors_of_every_kind.py:23
#   Filter: parameter 'least' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/constructors_of_every_kind.py:24
