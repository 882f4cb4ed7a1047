from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, day DATE, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.key_by("id", "day").aggregate(m="count(*)").select("m", day="day", customer="id")
rows.sink_to(Parquet("/out"), mode="merge", keys=["customer"])
rows.sink_to(Parquet("/all"), mode="merge", keys=["customer", "day"]).name("all")
months = rows.select("customer", "m", month="date_format(day, 'yyyy-MM')")  # as far as validate sees, that may be all
months.sink_to(Parquet("/months"), mode="merge", keys=["customer", "month"]).name("months")
# graph-compiler validate says:
# pipelines/a_total_that_is_merged_by_fewer_keys.py: pipeline 'sales' has 1 problem
#   Sink: it merges by customer, and 'Aggregate' has rows by id, day: of those that differ in day only, one would stay, which depends on the batches
#     allowed: mode='merge', with all keys of the aggregate
#     hint: keys=['id', 'day'], if the sink has these columns; or other keys before the aggregate
#     declared at pipelines/a_total_that_is_merged_by_fewer_keys.py:6
