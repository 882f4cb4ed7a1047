from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment, StateTtlConfig, ValueStateDescriptor


class Visits(KeyedProcessFunction):
    last = ValueStateDescriptor("BIGINT", ttl=StateTtlConfig("1 day"))

    def process_element(self, value, ctx):
        yield value

    def on_timer(self, timestamp, ctx):
        yield {"id": ctx.get_current_key()}


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour")
marked.key_by("id").process(Visits, "id INT", time="at").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/timers_beside_a_time_to_live.py: pipeline 'sales' has 1 problem
#   Keyed Process: its state 'last' has a time to live, which is by the clock, and its timers are by the event time 'at': Spark has one of both
#     allowed: time=… without a time to live; a time to live without time=…
#     hint: remove what is old by a timer: clear() in on_timer
#     declared at pipelines/timers_beside_a_time_to_live.py:17
