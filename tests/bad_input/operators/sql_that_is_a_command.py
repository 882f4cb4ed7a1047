from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
overwrite = env.sql(
    """
    -- SELECT * FROM {orders}
    WITH paid AS (SELECT * FROM {orders} WHERE paid)
    INSERT OVERWRITE DIRECTORY '/archive' USING csv SELECT * FROM paid
    """,
    orders=orders,
)
overwrite.name("overwrite").sink_to(Parquet("/out")).name("paid")
env.sql("SET spark.sql.shuffle.partitions = 4; FROM {o}", o=orders).name("set").sink_to(
    Parquet("/set")
).name("all")
orders.sql("FROM {input} INSERT INTO paid SELECT * INSERT INTO unpaid SELECT *").name(
    "several"
).sink_to(Parquet("/several")).name("none")
# graph-compiler validate says:
# pipelines/sql_that_is_a_command.py: pipeline 'sales' has 3 problems
#   overwrite: its SQL is a command (INSERT OVERWRITE DIRECTORY), not a query
#     allowed: SELECT …, WITH … SELECT, VALUES …, TABLE … or FROM …
#     hint: to write rows, use sink_to
#     declared at pipelines/sql_that_is_a_command.py:5
#   set: its SQL is a command (SET), not a query
#     allowed: SELECT …, WITH … SELECT, VALUES …, TABLE … or FROM …
#     hint: Spark's settings are in the conf of a slot sharing group
#     declared at pipelines/sql_that_is_a_command.py:14
#   several: its SQL is a command (INSERT INTO), not a query
#     allowed: SELECT …, WITH … SELECT, VALUES …, TABLE … or FROM …
#     hint: to write rows, use sink_to
#     declared at pipelines/sql_that_is_a_command.py:17
