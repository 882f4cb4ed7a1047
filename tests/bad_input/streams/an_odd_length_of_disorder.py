from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
rows = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="soon")
rows.sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/an_odd_length_of_disorder.py: pipeline 'sales' has 1 problem
#   Timestamps/Watermarks: its max_out_of_orderness is 'soon'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week; seconds may have a fraction
#     declared at pipelines/an_odd_length_of_disorder.py:5
