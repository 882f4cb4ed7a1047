from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def on_timer(self, timestamp, ctx):
        yield {"id": ctx.get_current_key()}


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour")
marked.key_by("id").process(Visits, "id INT", time="at").name("visits").sink_to(Parquet("/out"), mode="append")
marked.deduplicate("id").name("unique").sink_to(Parquet("/unique"), mode="append")
# graph-compiler validate says:
# pipelines/timers_beside_another_state.py: pipeline 'sales' has 1 problem
#   visits: it has timers, and 'unique' keeps state, too: Spark would fire timers too late
#     allowed: timers of an operator that is the only one with state in its pipeline
#     hint: declare the other one in a pipeline of its own
#     declared at pipelines/timers_beside_another_state.py:15
