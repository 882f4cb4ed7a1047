from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
for number, within in enumerate(["2", "2d", "two days", "-2 days", "2 days'", "{{ ds }}", "", "1 quarter"]):
    orders.expect_fresh(f"new {number}", "day", within)
orders.expect_fresh("new", "day", param("age"))
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/fresh_values_of_no_interval.py: pipeline 'sales' has 9 problems
#   new 0: its within is '2'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new 1: its within is '2d'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new 2: its within is 'two days'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new 3: its within is '-2 days'
#     allowed: an interval without a sign: '2 days', '12 hours'
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new 4: its within is "2 days'"
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new 5: its within is '{{ ds }}'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new 6: its within is ''
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new 7: its within is '1 quarter'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_of_no_interval.py:6
#   new: parameter 'age' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/fresh_values_of_no_interval.py:7
