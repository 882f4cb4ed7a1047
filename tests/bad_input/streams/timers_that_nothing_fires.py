from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def on_timer(self, timestamp, ctx):
        yield {"id": ctx.get_current_key()}


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT", time="at").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/timers_that_nothing_fires.py: pipeline 'sales' has 1 problem
#   Keyed Process: nothing says when its timers fire
#     hint: before it: .assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")
#     declared at pipelines/timers_that_nothing_fires.py:14
