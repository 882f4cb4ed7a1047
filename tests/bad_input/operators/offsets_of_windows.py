from graph_compiler import (
    EventTimeSessionWindows,
    Parquet,
    SlidingEventTimeWindows,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)

env = StreamExecutionEnvironment("sales")
rows = env.from_source(Parquet("/in"), "rows")
rows.window_all(TumblingEventTimeWindows("at", "1 week", "7 days")).aggregate(n="count(*)").name("a_size")
rows.window_all(TumblingEventTimeWindows("at", "1 week", "-1 week")).aggregate(n="count(*)").name("below")
rows.window_all(SlidingEventTimeWindows("at", "1 week", "1 day", "4 days")).aggregate(n="count(*)").name("a_slide")
rows.window_all(TumblingEventTimeWindows("at", "1 week", "Monday")).aggregate(n="count(*)").name("a_day")
rows.window_all(TumblingEventTimeWindows("at", "1 week", "1 month")).aggregate(n="count(*)").name("a_month")
rows.window_all(TumblingEventTimeWindows("at", "1 week", 4)).aggregate(n="count(*)").name("a_number")
rows.window_all(TumblingEventTimeWindows("at", "1 week", start="4 days")).aggregate(n="count(*)").name("start")
rows.window_all(TumblingEventTimeWindows("at", "7 days", "")).aggregate(n="count(*)").name("an_empty_text")
rows.window_all(EventTimeSessionWindows("at", "1 week", offset="4 days")).aggregate(n="count(*)").name("a_session")
rows.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/offsets_of_windows.py: pipeline 'sales' has 9 problems
#   a_size: the offset of its windows is '7 days', and a window begins every 1 week
#     allowed: less than 1 week, in both directions
#     declared at pipelines/offsets_of_windows.py:11
#   below: the offset of its windows is '-1 week', and a window begins every 1 week
#     allowed: less than 1 week, in both directions
#     declared at pipelines/offsets_of_windows.py:12
#   a_slide: the offset of its windows is '4 days', and a window begins every 1 day
#     allowed: less than 1 day, in both directions
#     declared at pipelines/offsets_of_windows.py:13
#   a_day: the offset of its windows is 'Monday'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week; seconds may have a fraction
#     declared at pipelines/offsets_of_windows.py:14
#   a_month: the offset of its windows is '1 month'
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week; seconds may have a fraction
#     declared at pipelines/offsets_of_windows.py:15
#   a_number: offset is 4
#     allowed: text
#     declared at pipelines/offsets_of_windows.py:16
#   TumblingEventTimeWindows has no parameter 'start'
#     allowed: TumblingEventTimeWindows(time, size, offset=None)
#     declared at pipelines/offsets_of_windows.py:17
#   an_empty_text: the offset of its windows is ''
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week; seconds may have a fraction
#     declared at pipelines/offsets_of_windows.py:18
#   EventTimeSessionWindows has no parameter 'offset'
#     allowed: EventTimeSessionWindows(time, gap)
#     declared at pipelines/offsets_of_windows.py:19
