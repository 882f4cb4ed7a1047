from graph_compiler import Json, KeyedProcessFunction, Parquet, StreamExecutionEnvironment, StateTtlConfig, ValueStateDescriptor


class Visits(KeyedProcessFunction):
    last = ValueStateDescriptor("BIGINT", ttl=StateTtlConfig("1 month"))
    Last = ValueStateDescriptor("")

    def process_element(self, value, ctx):
        yield value


env = StreamExecutionEnvironment("sales", config={"execution.runtime-mode": "AUTOMATIC"})
orders = env.from_source(Json("/in/orders", schema="id INT, at TIMESTAMP, n INT"), "orders", unbounded=True).uid("orders")
orders.key_by("id").process(Visits, "id INT").sink_to(Parquet("/out"), mode="append")
# graph-compiler validate says:
# pipelines/a_time_to_live_of_no_length.py: pipeline 'sales' has 3 problems
#   Keyed Process: it has an empty expression
#     allowed: Spark SQL
#     declared at pipelines/a_time_to_live_of_no_length.py:14
#   Keyed Process: the time to live of its state 'last' is '1 month'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week; seconds may have a fraction
#     declared at pipelines/a_time_to_live_of_no_length.py:14
#   Keyed Process: its states Last and last differ only in case
#     allowed: other names
#     declared at pipelines/a_time_to_live_of_no_length.py:14
