from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value

    def on_timer(self, timestamp, ctx):
        yield {"id": ctx.get_current_key()}


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/timers_without_a_time.py: pipeline 'sales' has 1 problem
#   after 'orders': the class Visits has on_timer, and process was given no time
#     allowed: the column of the event time: process(…, time="at")
#     declared at pipelines/timers_without_a_time.py:14
