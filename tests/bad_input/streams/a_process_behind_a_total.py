from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment


class Visits(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
totals = orders.key_by("id", "n").aggregate(m="count(*)")
totals.key_by("id").process(Visits, "id INT").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_process_behind_a_total.py: pipeline 'sales' has 3 problems
#   Aggregate: its values change all the time, and the rows of 'Keyed Process' are final
#     allowed: one of both in a pipeline
#     declared at pipelines/a_process_behind_a_total.py:11
#   Keyed Process: it reads what 'Aggregate' computes, and both keep state
#     allowed: one operator with state between a source and a sink
#     hint: publish the first one's rows, and read these by another pipeline
#     declared at pipelines/a_process_behind_a_total.py:12
#   Sink: it appends, and 'Aggregate' emits a key again whenever its values change
#     allowed: mode='merge', with the keys of the aggregate
#     hint: windows of event time emit each key once: key_by(…).window(TumblingEventTimeWindows(…))
#     declared at pipelines/a_process_behind_a_total.py:12
