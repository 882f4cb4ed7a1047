from datetime import datetime
from decimal import Decimal

from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment(
    "sales",
    params={
        "no_type": None,
        "no_items": [],
        "mixed": [1, "a"],
        "decimal": Decimal("0.06"),
        "moment": datetime(2026, 1, 1),
        "no_day": {"default": "2026-02-30", "sql_type": "DATE"},
        "too_long": {"default": "0.006", "sql_type": "DECIMAL(4, 2)"},
        "no_scale": {"default": "0.06", "sql_type": "DECIMAL"},
        "nested": {"default": [[1]], "sql_type": "ARRAY<ARRAY<INT>>"},
        "no_list": {"default": "1,2", "sql_type": "ARRAY<INT>"},
        "typo": {"default": [1], "sqltype": "ARRAY<INT>"},
        "a_name": {"default": "2026-01-01", "sql_type": "DATE", "format": "password", "minimun": 1},
    },
)
env.from_source(Parquet("/in"), "rows").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/typed_parameters.py: pipeline 'sales' has 12 problems
#   params.no_type: its default is None
#     allowed: a str, int, float, bool or date, a list of one of them, or a mapping with one as its 'default'
#     hint: name its type in SQL: {"default": …, "sql_type": "DECIMAL(4, 2)"}; in a model, Field(…, json_schema_extra={"sql_type": "DATE"})
#     declared at pipelines/typed_parameters.py:6
#   params.no_items: its default is []
#     allowed: a str, int, float, bool or date, a list of one of them, or a mapping with one as its 'default'
#     hint: name its type in SQL: {"default": …, "sql_type": "DECIMAL(4, 2)"}; in a model, Field(…, json_schema_extra={"sql_type": "DATE"})
#     declared at pipelines/typed_parameters.py:6
#   params.mixed: its default is [1, 'a']
#     allowed: a str, int, float, bool or date, a list of one of them, or a mapping with one as its 'default'
#     hint: name its type in SQL: {"default": …, "sql_type": "DECIMAL(4, 2)"}; in a model, Field(…, json_schema_extra={"sql_type": "DATE"})
#     declared at pipelines/typed_parameters.py:6
#   params.decimal: its default is Decimal('0.06')
#     allowed: a str, int, float, bool or date, a list of one of them, or a mapping with one as its 'default'
#     hint: name its type in SQL: {"default": …, "sql_type": "DECIMAL(4, 2)"}; in a model, Field(…, json_schema_extra={"sql_type": "DATE"})
#     declared at pipelines/typed_parameters.py:6
#   params.moment: its default is datetime.datetime(2026, 1, 1, 0, 0)
#     allowed: a str, int, float, bool or date, a list of one of them, or a mapping with one as its 'default'
#     declared at pipelines/typed_parameters.py:6
#   params.no_day: its default is '2026-02-30'
#     allowed: a day, such as 2026-01-31, or None for NULL
#     declared at pipelines/typed_parameters.py:6
#   params.too_long: its default is '0.006'
#     allowed: a number that DECIMAL(4,2) can hold, or None for NULL
#     declared at pipelines/typed_parameters.py:6
#   params.no_scale: its sql_type is 'DECIMAL'
#     allowed: BOOLEAN, INT, BIGINT, DOUBLE, STRING, DATE, DECIMAL(p, s), and ARRAY<…> of one of these
#     declared at pipelines/typed_parameters.py:6
#   params.nested: its sql_type is 'ARRAY<ARRAY<INT>>'
#     allowed: BOOLEAN, INT, BIGINT, DOUBLE, STRING, DATE, DECIMAL(p, s), and ARRAY<…> of one of these
#     declared at pipelines/typed_parameters.py:6
#   params.no_list: its default is '1,2'
#     allowed: a list of INT, or None for NULL
#     declared at pipelines/typed_parameters.py:6
#   params.typo: a parameter has no keyword 'sqltype'
#     allowed: default, type, title, description, description_md, section, enum, values_display, examples, format, pattern, minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, items, minItems, maxItems, uniqueItems, sql_type
#     hint: did you mean 'sql_type'?
#     declared at pipelines/typed_parameters.py:6
#   params.a_name: a parameter has no keyword 'minimun'
#     allowed: default, type, title, description, description_md, section, enum, values_display, examples, format, pattern, minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, items, minItems, maxItems, uniqueItems, sql_type
#     hint: did you mean 'minimum'?
#     declared at pipelines/typed_parameters.py:6
