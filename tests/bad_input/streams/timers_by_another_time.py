from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def on_timer(self, timestamp, ctx):
        yield {"id": ctx.get_current_key()}


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour")
marked.key_by("id").process(Visits, "id INT", time="n").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/timers_by_another_time.py: pipeline 'sales' has 1 problem
#   Keyed Process: its timers are by 'n', and the event time is 'at'
#     allowed: one event time
#     hint: assign_timestamps_and_watermarks("n", max_out_of_orderness="5 minutes")
#     declared at pipelines/timers_by_another_time.py:15
