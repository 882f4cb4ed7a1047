from graph_compiler import Json, KeyedProcessFunction, Parquet, StateTtlConfig, StreamExecutionEnvironment, ValueStateDescriptor


class Visits(KeyedProcessFunction):
    last = ValueStateDescriptor("BIGINT", ttl=StateTtlConfig("1 day"))

    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT").name("visits").sink_to(Parquet("/out"), mode="append")
marked = orders.assign_timestamps_and_watermarks("at", max_out_of_orderness="1 hour")
marked.deduplicate("id").name("unique").sink_to(Parquet("/unique"), mode="append")
# graph-compiler validate says:
# pipelines/a_time_to_live_beside_another_state.py: pipeline 'sales' has 1 problem
#   visits: a state of it has a time to live, and 'unique' keeps state, too: its last rows would wait for the next run
#     allowed: a time to live of states of the only operator with state in its pipeline
#     hint: declare the other one in a pipeline of its own
#     declared at pipelines/a_time_to_live_beside_another_state.py:13
