"""Our calls for the names that PySpark, pandas and PyFlink have: people write these from memory.

foreign_name("groupBy")   →   ForeignName(whose="PySpark's", hint='`key_by("country").aggregate(…)`')
foreign_name("group_by")  →   the same: case and underscores do not count

Spelling leads away from the right call (`explode` is closest to `expect`), so these names have hints of their own. The
code in a hint can be run as it is (`tests/spark/operators/test_names_of_pyspark.py` does), if these are defined: `rows`
and `other`, streams with columns such as `id` and `amount`; `env`, `function`, `path`, `url` and `file`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

_COUNT = '`aggregate(n="count(*)")`'
_SUM = '`aggregate(total="sum(amount)")`; for each key: `key_by("country").aggregate(total="sum(amount)")`'
_BY_KEY = '`key_by("country").aggregate(n="count(*)", total="sum(amount)")`'
_ROWS = "`graph-compiler run NAME --until OPERATOR` shows rows; a module only declares"
_COLUMNS = "`graph-compiler dry-run NAME` shows columns and types; a module only declares"
_PLAN = "`graph-compiler explain NAME` shows the plan; a module only declares"
_VIEW = '`env.sql("SELECT * FROM {orders} WHERE amount > 10", orders=rows)`'
_FILTER = '`filter("amount > 10")`'
_NOT_NULL = '`filter("country IS NOT NULL")`'
_NULL = '`filter("country IS NULL")`'
_FILL = "`with_columns(country=\"coalesce(country, 'unknown')\")`"
_REPLACE = "`with_columns(country=\"CASE country WHEN 'AT' THEN 'at' ELSE country END\")`"
_WITH = '`with_columns(twice="amount * 2")`'
_RENAME = '`rename({"id": "order"})`'
_CAST = '`cast(amount="BIGINT")`'
_SORT = '`sort("amount DESC", "id")`'
_FIRST = '`top_n(10, "id")`, or `limit(10)` for any rows'
_DIFFERENCE = "`except_(other, all=True)`, and the same the other way round"
_WINDOW = '`with_columns(before="lag(amount) OVER (PARTITION BY country ORDER BY id)")`, and other window functions'
_UNPIVOT = '`sql("SELECT * FROM {input} UNPIVOT (number FOR kind IN (id, amount))")`'
_PIVOT = '`key_by("country").aggregate(a="sum(amount) FILTER (WHERE text = \'a\')")`'
_FLAT_MAP = '`flat_map("explode(split(text, \' \'))", "word")`'
_BATCHES = '`map_partitions(function, "id INT")`, with an importable function'
_TRANSFORM = "`transform(function)`, with an importable function of a DataFrame"
_GROUPS = '`key_by("country").apply_in_pandas(function, "country STRING, id INT")`'
_SINK = '`sink_to(Parquet(path))`; modes: `sink_to(Parquet(path), mode="append")`'
_LATERAL = (
    '`env.sql("SELECT a.*, b.amount AS last FROM {a} a, LATERAL (SELECT amount FROM {b} b WHERE b.id <= a.id '
    'ORDER BY b.id DESC LIMIT 1) b", a=rows, b=other)`'
)
_LEFT_LATERAL = _LATERAL.replace("{a} a, ", "{a} a LEFT JOIN ").replace(') b"', ') b ON true"')
_SEMI = '`join(other, on="id", how="semi")`'
_SPLIT = '`filter("pmod(hash(id), 10) < 8", rejects="rest")`; the other rows are its side output rest'
_STAGE = '`stage("expensive", same_task=True)`, or `stage("expensive")` for a task of its own'
_SETTINGS = (
    'the pipeline\'s options: `StreamExecutionEnvironment("sales", config={"spark.sql.shuffle.partitions": 64})`'
)
_NO_SESSION = "leave it out: there is no session when a pipeline is loaded"
_NO_INDEX = "leave it out: rows have no index"
_CUMULATED = '`with_columns(so_far="max(amount) OVER (ORDER BY id)")`, and other functions of a window'
_PLOT = f"write the rows, {_SINK}, and draw them elsewhere"
_ZONE = "`with_columns(local=\"from_utc_timestamp(at, 'Europe/Vienna')\")`"
_ZONE_TO = "`with_columns(utc=\"to_utc_timestamp(at, 'Europe/Vienna')\")`"
_LATENESS = "leave it out: a window is published once. max_out_of_orderness waits, side_output_late_data has later rows"
_MARKED = 'on rows that never end, `assign_timestamps_and_watermarks("at", max_out_of_orderness="5 minutes")`'
_WATERMARKS = f"{_MARKED}; a batch has all its rows, and needs none"
_WITHIN_WATERMARK = f'{_MARKED}, then `deduplicate("id")`'
_LATE_ROWS = '`key_by("country").window(TumblingEventTimeWindows("at", "1 hour")).side_output_late_data("late")`'
_WINDOWS = '`key_by("country").window(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)")`'
_WINDOW_ALL = '`window_all(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)")`'
_ROW_OF_MOST = '`deduplicate("country", order_by="amount DESC")`'
_CONTINUED = '`with_columns(so_far="sum(amount) OVER (PARTITION BY country ORDER BY id)")`'
_NO_SETTINGS = "leave it out: `graph-compiler explain NAME` shows what is declared"
_NO_BUFFERS = "leave it out: Spark sends blocks of rows, and waits for none of them"
_NO_TYPES = 'leave it out: rows have columns with types of Spark; another type: `cast(amount="BIGINT")`'
_MATHS = '`with_columns(amount="greatest(amount, 0)")`, and other functions of Spark SQL'

_PYSPARK: Mapping[str, str] = {
    # DataFrame
    "agg": '`aggregate(n="count(*)", total="sum(amount)")`',
    "alias": "the sides of a join are called left and right: "
    '`join(other, on="id", condition="left.amount > right.least")`',
    "approxQuantile": '`aggregate(median="approx_percentile(amount, 0.5)")`',
    "asTable": _TRANSFORM,
    "checkpoint": _STAGE,
    "coalesce": "one partition: `global_()`; before a sink: `sink_to(Parquet(path), files=1)`",
    "colRegex": '`select("id", "country")`',
    "collect": _ROWS,
    "columns": _COLUMNS,
    "corr": '`aggregate(r="corr(amount, id)")`',
    "count": _COUNT,
    "cov": '`aggregate(c="covar_samp(amount, id)")`',
    "createGlobalTempView": _VIEW,
    "createOrReplaceGlobalTempView": _VIEW,
    "createOrReplaceTempView": _VIEW,
    "createTempView": _VIEW,
    "crossJoin": '`join(other.select(other="id"), how="cross")`',
    "crosstab": _PIVOT,
    "describe": '`aggregate(least="min(amount)", most="max(amount)", mean="avg(amount)")`',
    "distinct": "`deduplicate()`",
    "dropDuplicates": '`deduplicate("country", order_by="id")`',
    "dropDuplicatesWithinWatermark": _WITHIN_WATERMARK,
    "dropna": _NOT_NULL,
    "dtypes": _COLUMNS,
    "exceptAll": "`except_(other, all=True)`",
    "executionInfo": _PLAN,
    "exists": _SEMI,
    "explain": _PLAN,
    "fillna": _FILL,
    "first": _ROWS,
    "foreach": _BATCHES,
    "foreachPartition": _BATCHES,
    "freqItems": '`key_by("country").aggregate(n="count(*)").top_n(10, "n DESC")`',
    "groupBy": _BY_KEY,
    "head": _FIRST,
    "hint": '`join(other.broadcast(), on="id")`; other hints in a function: `transform(function)`',
    "inputFiles": '`with_columns(file="input_file_name()")`, right behind the source',
    "intersectAll": "`intersect(other, all=True)`",
    "isEmpty": _COUNT,
    "isLocal": _PLAN,
    "isStreaming": _PLAN,
    "lateralJoin": _LATERAL,
    "localCheckpoint": _STAGE,
    "mapInArrow": '`map_partitions(function, "id INT", batches="arrow")`',
    "mapInPandas": _BATCHES,
    "melt": _UNPIVOT,
    "mergeInto": '`sink_to(Parquet(path), mode="merge", keys="id")`',
    "metadataColumn": _TRANSFORM,
    "na": f"{_FILL}, {_NOT_NULL}",
    "nearestByJoin": _LATERAL,
    "observe": '`expect("amount_is_known", "amount IS NOT NULL")`',
    "offset": '`sql("SELECT * FROM {input} ORDER BY id LIMIT 10 OFFSET 5")`',
    "orderBy": _SORT,
    "pandas_api": _BATCHES,
    "persist": '`cache("DISK_ONLY")`',
    "plot": _PLOT,
    "printSchema": _COLUMNS,
    "randomSplit": _SPLIT,
    "rdd": _BATCHES,
    "registerTempTable": _VIEW,
    "repartition": "`rebalance()`; before a sink: `sink_to(Parquet(path), files=8)`",
    "repartitionById": '`partition_custom("id")`',
    "repartitionByRange": _SORT,
    "replace": _REPLACE,
    "sameSemantics": _PLAN,
    "sampleBy": "`filter(\"pmod(hash(id), 100) < CASE country WHEN 'at' THEN 10 ELSE 50 END\")`",
    "scalar": '`sql("SELECT *, (SELECT max(amount) FROM {input}) AS most FROM {input}")`',
    "schema": _COLUMNS,
    "selectExpr": '`select("id", twice="amount * 2")`',
    "semanticHash": _PLAN,
    "show": _ROWS,
    "sortWithinPartitions": '`sql("SELECT * FROM {input} SORT BY id")`',
    "sparkSession": _NO_SESSION,
    "stat": '`aggregate(r="corr(amount, id)")`',
    "storageLevel": _PLAN,
    "subtract": "`except_(other)`",
    "summary": '`aggregate(least="min(amount)", most="max(amount)", mean="avg(amount)")`',
    "tail": '`top_n(10, "id DESC")`',
    "take": _FIRST,
    "to": _CAST,
    "toArrow": _ROWS,
    "toDF": _RENAME,
    "toJSON": '`select(json="to_json(struct(*))")`',
    "toLocalIterator": _ROWS,
    "toPandas": _ROWS,
    "transpose": _TRANSFORM,
    "unionAll": "`union(other)`",
    "unpersist": "leave it out: a cache ends with its application",
    "unpivot": _UNPIVOT,
    "where": _FILTER,
    "withColumn": _WITH,
    "withColumnRenamed": _RENAME,
    "withColumnsRenamed": _RENAME,
    "withMetadata": _TRANSFORM,
    "withWatermark": _WATERMARKS,
    "write": _SINK,
    "writeStream": _SINK,
    "writeTo": '`sink_to(Iceberg("lake.shop.sold"), mode="append")`, or `Table("sold")`',
    "zip": '`join(other, on="id")`',
    "zipWithIndex": '`with_columns(n="row_number() OVER (ORDER BY id)")`',
    # GroupedData
    "applyInArrow": _GROUPS,
    "applyInPandasWithState": _GROUPS,
    "avg": '`aggregate(mean="avg(amount)")`; for each key: `key_by("country").aggregate(mean="avg(amount)")`',
    "cogroup": "`connect(other).transform(function)`, with an importable function of two DataFrames",
    "max": '`aggregate(most="max(amount)")`; for each key: `key_by("country").aggregate(most="max(amount)")`',
    "mean": '`aggregate(mean="avg(amount)")`; for each key: `key_by("country").aggregate(mean="avg(amount)")`',
    "min": '`aggregate(least="min(amount)")`; for each key: `key_by("country").aggregate(least="min(amount)")`',
    "pivot": _PIVOT,
    "sum": _SUM,
    "transformWithState": _GROUPS,
    "transformWithStateInPandas": _GROUPS,
    # functions and methods of Column, called on a stream
    "astype": _CAST,
    "between": '`filter("amount BETWEEN 1 AND 10")`',
    "explode": _FLAT_MAP,
    "isNotNull": _NOT_NULL,
    "isNull": _NULL,
    "isin": "`filter(\"country IN ('at', 'de')\")`",
    "like": "`filter(\"country LIKE 'a%'\")`",
    "otherwise": "`with_columns(size=\"CASE WHEN amount > 10 THEN 'big' ELSE 'small' END\")`",
    "over": _WINDOW,
    "posexplode": '`flat_map("posexplode(split(text, \' \'))", "position", "word")`',
    "when": "`with_columns(size=\"CASE WHEN amount > 10 THEN 'big' ELSE 'small' END\")`",
}
"""For each name of PySpark that no call of ours has."""

_PANDAS: Mapping[str, str] = {
    "abs": _MATHS,
    "add": _WITH,
    "add_prefix": _RENAME,
    "add_suffix": _RENAME,
    "align": _NO_INDEX,
    "all": '`aggregate(all_large="bool_and(amount > 10)")`',
    "any": '`aggregate(any_large="bool_or(amount > 10)")`',
    "append": "`union(other)`",
    "applymap": _WITH,
    "asof": _LEFT_LATERAL,
    "asof_join": _LEFT_LATERAL,
    "assign": _WITH,
    "at": _FILTER,
    "between_time": "`filter(\"date_format(at, 'HH:mm') BETWEEN '09:00' AND '17:00'\")`",
    "bfill": '`with_columns(country="first_value(country) IGNORE NULLS OVER (ORDER BY id ROWS BETWEEN CURRENT ROW '
    'AND UNBOUNDED FOLLOWING)")`',
    "boxplot": _PLOT,
    "clip": _MATHS,
    "combine_first": f'`join(other, on="id", how="full")`, then {_FILL}',
    "compare": _DIFFERENCE,
    "concat": "`union(other)`",
    "convert_dtypes": _CAST,
    "copy": "leave it out: a stream never changes; use the same one twice",
    "corrwith": '`aggregate(r="corr(amount, id)")`',
    "cumcount": '`with_columns(n="row_number() OVER (PARTITION BY country ORDER BY id)")`',
    "cummax": _CUMULATED,
    "cummin": _CUMULATED,
    "cumprod": _CUMULATED,
    "cumsum": '`with_columns(so_far="sum(amount) OVER (ORDER BY id)")`',
    "diff": _WINDOW,
    "div": _WITH,
    "divide": _WITH,
    "droplevel": _NO_INDEX,
    "duplicated": '`key_by("id").aggregate(n="count(*)").filter("n > 1")`',
    "empty": _COUNT,
    "eq": _FILTER,
    "equals": _DIFFERENCE,
    "eval": _WITH,
    "ewm": _WINDOW,
    "expanding": _WINDOW,
    "ffill": '`with_columns(country="last_value(country) IGNORE NULLS OVER (ORDER BY id)")`',
    "first_valid_index": _NO_INDEX,
    "floordiv": _WITH,
    "ge": _FILTER,
    "get_dummies": "`with_columns(at=\"country = 'at'\")`",
    "get_group": _FILTER,
    "gt": _FILTER,
    "hist": _PLOT,
    "iat": _FILTER,
    "idxmax": _ROW_OF_MOST,
    "idxmin": _ROW_OF_MOST,
    "iloc": _FIRST,
    "index": _NO_INDEX,
    "infer_objects": _CAST,
    "info": _COLUMNS,
    "insert": _WITH,
    "interpolate": _WINDOW,
    "isna": _NULL,
    "iteritems": _BATCHES,
    "iterrows": _BATCHES,
    "itertuples": _BATCHES,
    "kurt": '`aggregate(k="kurtosis(amount)")`',
    "kurtosis": '`aggregate(k="kurtosis(amount)")`',
    "last": '`deduplicate("country", order_by="id DESC")`',
    "last_valid_index": _NO_INDEX,
    "le": _FILTER,
    "loc": _FILTER,
    "lt": _FILTER,
    "mask": _REPLACE,
    "median": '`aggregate(middle="median(amount)")`',
    "memory_usage": _PLAN,
    "merge": '`join(other, on="id")`',
    "merge_asof": _LEFT_LATERAL,
    "mod": _WITH,
    "mul": _WITH,
    "multiply": _WITH,
    "ne": _FILTER,
    "ngroup": '`with_columns(group="dense_rank() OVER (ORDER BY country)")`',
    "nlargest": '`top_n(10, "amount DESC")`',
    "notna": _NOT_NULL,
    "notnull": _NOT_NULL,
    "nsmallest": '`top_n(10, "amount")`',
    "nth": _WINDOW,
    "nunique": '`aggregate(n="count(DISTINCT country)")`',
    "pct_change": _WINDOW,
    "pipe": _TRANSFORM,
    "pivot_table": _PIVOT,
    "pow": _WITH,
    "prod": '`aggregate(p="exp(sum(ln(amount)))")` of positive numbers',
    "product": '`aggregate(p="exp(sum(ln(amount)))")` of positive numbers',
    "quantile": '`aggregate(median="approx_percentile(amount, 0.5)")`',
    "query": _FILTER,
    "rank": '`with_columns(place="rank() OVER (PARTITION BY country ORDER BY amount DESC)")`',
    "reindex": _NO_INDEX,
    "reindex_like": _NO_INDEX,
    "rename_axis": _NO_INDEX,
    "reorder_levels": _NO_INDEX,
    "resample": '`window_all(TumblingEventTimeWindows("at", "1 hour")).aggregate(n="count(*)")`',
    "reset_index": _NO_INDEX,
    "rolling": _WINDOW,
    "round": _MATHS,
    "select_dtypes": '`select("id", "country")`',
    "sem": '`aggregate(e="stddev(amount) / sqrt(count(amount))")`',
    "set_axis": _RENAME,
    "set_index": _NO_INDEX,
    "shape": _COUNT,
    "shift": _WINDOW,
    "size": _COUNT,
    "skew": '`aggregate(s="skewness(amount)")`',
    "sort_index": _SORT,
    "sort_values": _SORT,
    "squeeze": _NO_INDEX,
    "stack": _UNPIVOT,
    "std": '`aggregate(deviation="stddev(amount)")`',
    "sub": _WITH,
    "swaplevel": _NO_INDEX,
    "to_clipboard": _ROWS,
    "to_csv": "`sink_to(Csv(path), single_file=True)`",
    "to_dict": _ROWS,
    "to_excel": "write a file that Excel opens: `sink_to(Csv(path), single_file=True)`",
    "to_feather": "`sink_to(Parquet(path))`",
    "to_hdf": "`sink_to(Parquet(path))`",
    "to_html": _ROWS,
    "to_iceberg": '`sink_to(Iceberg("lake.shop.sold"))`',
    "to_json": "`sink_to(Json(path), single_file=True)`",
    "to_latex": _ROWS,
    "to_markdown": _ROWS,
    "to_numpy": _ROWS,
    "to_orc": "`sink_to(Orc(path))`",
    "to_parquet": "`sink_to(Parquet(path))`",
    "to_period": "`with_columns(month=\"date_trunc('month', at)\")`",
    "to_pickle": "`sink_to(Parquet(path))`",
    "to_records": _ROWS,
    "to_sql": '`sink_to(Table("sold"))`; databases: `sink_to(Jdbc(url, table="sold"))`',
    "to_stata": "`sink_to(Csv(path), single_file=True)`",
    "to_string": _ROWS,
    "to_timestamp": '`cast(at="TIMESTAMP")`',
    "to_xarray": _ROWS,
    "to_xml": '`sink_to(Files(path, format="xml"), single_file=True)`',
    "truediv": _WITH,
    "truncate": _FILTER,
    "tz_convert": _ZONE,
    "tz_localize": _ZONE_TO,
    "unstack": _PIVOT,
    "value_counts": '`key_by("country").aggregate(n="count(*)").sort("n DESC")`',
    "values": _ROWS,
    "var": '`aggregate(variance="variance(amount)")`',
}
"""For each name of pandas that neither we nor PySpark have."""

_PYFLINK: Mapping[str, str] = {
    # DataStream
    "add_sink": "`sink_to(Parquet(path))`",
    "assign_timestamps": _WATERMARKS,
    "async_wait": _BATCHES,
    "close_with": "`iterate(function, max_iterations=10)` repeats a function of a DataFrame",
    "collect_async": _ROWS,
    "count_window": '`with_columns(n="(row_number() OVER (PARTITION BY country ORDER BY id) - 1) DIV 10")`, as a key',
    "count_window_all": '`with_columns(n="(row_number() OVER (ORDER BY id) - 1) DIV 10")`, as a key',
    "execute_and_collect": _ROWS,
    "execute_insert": "`sink_to(Parquet(path))`",
    "fold": _BY_KEY,
    "force_non_parallel": "`set_parallelism(1)`",
    "full_window_partition": _BATCHES,
    "get_execution_config": _NO_SETTINGS,
    "get_execution_environment": _NO_SETTINGS,
    "get_id": _NO_SETTINGS,
    "get_max_parallelism": _NO_SETTINGS,
    "get_min_resources": _NO_SETTINGS,
    "get_name": _NO_SETTINGS,
    "get_parallelism": _NO_SETTINGS,
    "get_preferred_resources": _NO_SETTINGS,
    "get_transformation": _NO_SETTINGS,
    "get_type": _COLUMNS,
    "left_outer_join": '`join(other, on="id", how="left")`',
    "map": _WITH,
    "map_partition": _BATCHES,
    "minus": "`except_(other)`",
    "ordered_wait": _BATCHES,
    "print": _ROWS,
    "print_to_err": _ROWS,
    "project": '`select("id", "country")`',
    "returns": _NO_TYPES,
    "set_buffer_timeout": _NO_BUFFERS,
    "set_connection_type": "`rebalance()`, `shuffle()`, and others",
    "set_uid_hash": '`uid_hash("0123456789abcdef0123456789abcdef")`',
    "sort_partition": '`sql("SELECT * FROM {input} SORT BY id")`',
    "split": '`filter("amount > 10", rejects="small")`; the other rows are its side output small',
    "time_window": _WINDOWS,
    "time_window_all": _WINDOW_ALL,
    "unordered_wait": _BATCHES,
    "write_as_csv": "`sink_to(Csv(path))`",
    "write_as_text": "`sink_to(Text(path))`",
    "write_to_socket": _SINK,
    "write_using_output_format": _SINK,
    # KeyedStream
    "as_queryable_state": "`sink_to(Parquet(path))`: others read rows that are published, not state",
    "filter_with_state": _CONTINUED,
    "flat_map_with_state": _GROUPS,
    "get_key_selector": _NO_SETTINGS,
    "get_key_type": _COLUMNS,
    "map_with_state": _CONTINUED,
    "max_by": _ROW_OF_MOST,
    "min_by": '`deduplicate("country", order_by="amount")`',
    "reinterpret_as_keyed_stream": _BY_KEY,
    # WindowedStream, JoinedStreams and ConnectedStreams
    "allowed_lateness": _LATENESS,
    "co_group": "`connect(other).transform(function)`, with an importable function of two DataFrames",
    "equal_to": '`join(other, on="id")`',
    "evictor": _LATENESS,
    "side_output_late_data": f"call it on windows, before aggregate: {_LATE_ROWS}",
    "trigger": _LATENESS,
}
"""For each name of PyFlink that no other table has."""

_NO_TYPES_OF_ENVIRONMENT = "leave it out: rows have columns with Spark's types, which Spark writes and reads itself"
_NO_STATE = (
    "leave it out: a stream commits each batch by itself, and keeps its checkpoint below the staging root. In a batch, "
    '`rows.stage("expensive")` keeps what a retry reads again'
)
_LISTENERS = "leave it out: callbacks of the Dag and of tasks are Airflow's, in AirflowArguments (docs/airflow.md)"

_OPTION = 'StreamExecutionEnvironment("sales", config={'
_ARRIVING = '`env.from_source(Text(path), "lines", unbounded=True)`, with the option execution.runtime-mode: AUTOMATIC'
_OF_ENVIRONMENT: Mapping[str, Mapping[str, str]] = {
    "PySpark's": {
        "active": _NO_SESSION,
        "addArtifact": "`env.add_files(file)`, `env.add_jars(file)`",
        "addArtifacts": "`env.add_files(file)`, `env.add_jars(file)`",
        "addTag": 'leave it out: each operator has a name, `rows.filter("id > 1").name("orders")`',
        "Builder": _SETTINGS,
        "builder": _SETTINGS,
        "catalog": '`env.from_source(Table("bought"), "bought")`',
        "clearProgressHandlers": _NO_SESSION,
        "clearTags": _NO_SESSION,
        "client": _NO_SESSION,
        "conf": _SETTINGS,
        "copyFromLocalToFs": "`env.add_files(file)`",
        "createDataFrame": '`env.from_source(Values([(1, "a")], "id INT, text STRING"), "orders")`',
        "dataSource": '`env.from_source(Files(path, format="avro"), "orders")`',
        "emptyDataFrame": '`env.from_source(Values([], "id INT, text STRING"), "orders")`',
        "getActiveSession": _NO_SESSION,
        "getTags": _NO_SESSION,
        "interruptAll": _NO_SESSION,
        "interruptOperation": _NO_SESSION,
        "interruptTag": _NO_SESSION,
        "newSession": _NO_SESSION,
        "profile": _NO_SESSION,
        "range": '`env.from_source(Range(0, 10), "numbers")`',
        "read": '`env.from_source(Csv(path), "orders")`, or Parquet, Json, Orc, Text, Files, Jdbc, Table',
        "readStream": _ARRIVING,
        "registerProgressHandler": _NO_SESSION,
        "removeProgressHandler": _NO_SESSION,
        "removeTag": _NO_SESSION,
        "sparkContext": _NO_SESSION,
        "stop": _NO_SESSION,
        "streams": _NO_SESSION,
        "table": '`env.from_source(Table("bought"), "bought")`',
        "tvf": _VIEW,
        "udf": "decorate an importable function with `@udf(StringType())`, and call it in a function of a DataFrame: "
        "`rows.transform(function)`",
        "udtf": '`rows.flat_map("explode(split(text, \' \'))", "word")`, or `rows.transform(function)`',
        "version": _NO_SESSION,
    },
    "pandas'": {
        "DataFrame": '`env.from_source(Values([(1, "a")], "id INT, text STRING"), "orders")`',
        "concat": "`rows.union(other)`",
        "merge": '`rows.join(other, on="id")`',
        "read_csv": '`env.from_source(Csv(path), "orders")`',
        "read_json": '`env.from_source(Json(path), "orders")`',
        "read_parquet": '`env.from_source(Parquet(path), "orders")`',
        "read_sql": '`env.from_source(Jdbc(url, table="orders"), "orders")`',
        "read_table": '`env.from_source(Csv(path), "orders")`',
    },
    "PyFlink's": {
        "add_classpaths": '`StreamExecutionEnvironment("sales", config={"pipeline.classpaths": "/opt/jars/a.jar"})`',
        "add_default_kryo_serializer": _NO_TYPES_OF_ENVIRONMENT,
        "add_python_file": "leave it out: the code of functions travels by itself; other files: `env.add_files(file)`",
        "add_source": '`env.from_source(Csv(path), "orders")`',
        "clear_job_listeners": _LISTENERS,
        "configure": _SETTINGS,
        "create_input": '`env.from_source(Csv(path), "orders")`',
        "create_local_environment": '`StreamExecutionEnvironment("sales")`',
        "create_local_environment_with_web_ui": '`StreamExecutionEnvironment("sales")`',
        "create_remote_environment": f'`{_OPTION}"airflow.conn-id": "spark_yarn"}})`',
        "create_temporary_view": _VIEW,
        "disable_operator_chaining": f'`{_OPTION}"pipeline.operator-chaining.enabled": False}})`',
        "enable_changelog_state_backend": _NO_STATE,
        "enable_checkpointing": _NO_STATE,
        "execute_sql": _VIEW,
        "from_collection": '`env.from_source(Values([(1, "a")], "id INT, text STRING"), "orders")`',
        "from_elements": '`env.from_source(Values([(1, "a")], "id INT, text STRING"), "orders")`',
        "from_data": '`env.from_source(Values([(1, "a")], "id INT, text STRING"), "orders")`',
        "from_parallel_collection": '`env.from_source(Range(0, 10), "numbers")`',
        "from_path": '`env.from_source(Table("bought"), "bought")`',
        "from_sequence": '`env.from_source(Range(0, 10), "numbers")`',
        "generate_sequence": '`env.from_source(Range(0, 10), "numbers")`',
        "generate_stream_graph": "`graph-compiler explain NAME --graph stream`",
        "get_buffer_timeout": _NO_BUFFERS,
        "get_cached_files": _NO_SETTINGS,
        "get_checkpoint_config": _NO_STATE,
        "get_checkpoint_interval": _NO_STATE,
        "get_checkpointing_mode": _NO_STATE,
        "get_config": _SETTINGS,
        "get_configuration": _SETTINGS,
        "get_default_local_parallelism": _NO_SETTINGS,
        "get_execution_environment": '`StreamExecutionEnvironment("sales")`',
        "get_default_savepoint_directory": _NO_STATE,
        "get_job_listeners": _LISTENERS,
        "get_max_parallelism": _NO_SETTINGS,
        "get_parallelism": _NO_SETTINGS,
        "get_number_of_execution_retries": _NO_SETTINGS,
        "get_restart_strategy": _NO_SETTINGS,
        "get_state_backend": _NO_STATE,
        "get_stream_time_characteristic": "leave it out: windows are of event time",
        "get_transformations": _NO_SETTINGS,
        "invalidate_cluster_dataset": "leave it out: a cache ends with its application",
        "is_chaining_enabled": _NO_SETTINGS,
        "is_chaining_enabled_for_operators_with_different_max_parallelism": _NO_SETTINGS,
        "is_changelog_state_backend_enabled": _NO_STATE,
        "is_force_checkpointing": _NO_STATE,
        "is_unaligned_checkpoints_enabled": _NO_STATE,
        "read_file": '`env.from_source(Text(path), "lines")`, or Csv, Json, Parquet, Orc, Files',
        "read_file_stream": _ARRIVING,
        "read_text_file": '`env.from_source(Text(path), "lines")`',
        "register_cached_file": "`env.add_files(file)`",
        "register_job_listener": _LISTENERS,
        "register_slot_sharing_group": '`rows.slot_sharing_group(SlotSharingGroup("big", executor_memory="8g"))`',
        "register_type": _NO_TYPES_OF_ENVIRONMENT,
        "register_type_with_kryo_serializer": _NO_TYPES_OF_ENVIRONMENT,
        "set_buffer_timeout": _NO_BUFFERS,
        "set_default_savepoint_directory": _NO_STATE,
        "set_max_parallelism": '`StreamExecutionEnvironment("sales", config={"pipeline.max-parallelism": 128})`',
        "set_number_of_execution_retries": f'`{_OPTION}"restart-strategy.type": "fixed-delay"}})`',
        "set_parallelism": '`StreamExecutionEnvironment("sales", config={"parallelism.default": 2})`',
        "set_python_executable": f'`{_OPTION}"python.executable": "/opt/python/bin/python"}})`',
        "set_python_requirements": "leave it out: install packages on every host, or pack them: add_python_archive(…)",
        "set_restart_strategy": f'`{_OPTION}"restart-strategy.type": "fixed-delay"}})`',
        "set_runtime_mode": f'`{_OPTION}"execution.runtime-mode": "STREAMING"}})`; BATCH is the default',
        "set_state_backend": f'`{_OPTION}"state.backend.type": "rocksdb"}})`',
        "set_stream_time_characteristic": "leave it out: windows are of event time",
        "socket_text_stream": "write what arrives into files, or Kafka, which can be read again: " + _ARRIVING,
        "sql_query": _VIEW,
    },
}
"""For each name of a session, an environment or a module."""

OF_SESSION: Mapping[str, str] = {
    "spark": '`env.from_source(Csv(path), "orders")` reads, `env.sql("SELECT * FROM {orders}", orders=rows)` queries: '
    "there is no session when a pipeline is loaded",
    "sc": _NO_SESSION,
    "sqlContext": _VIEW,
    "display": _ROWS,
}
"""For each variable that a notebook or a shell of PySpark defines."""


@dataclass(frozen=True, slots=True)
class ForeignName:
    """A name of another library: whose it is ("PySpark's"), and our call for it."""

    whose: str
    hint: str

    @property
    def code(self) -> tuple[str, ...]:
        """The pieces of code in the hint."""
        return tuple(re.findall("`([^`]*)`", self.hint))


def foreign_name(name: str, *, of_environment: bool = False) -> ForeignName | None:
    """Return our call for a name of another library, in any spelling; None for an unknown name.

    `of_environment`: a name of a session, where a stream has others.
    """
    return _known(of_environment).get(without_style(name))


def without_style(name: str) -> str:
    """Return a name without case and underscores: `groupBy`, `groupby` and `group_by` are alike."""
    return name.replace("_", "").lower()


def foreign_names(*, of_environment: bool = False) -> dict[str, ForeignName]:
    """Return all names that have a call of ours, as their libraries spell them."""
    of_streams = {"PySpark's": _PYSPARK, "pandas'": _PANDAS, "PyFlink's": _PYFLINK}
    tables = _OF_ENVIRONMENT if of_environment else of_streams
    return {
        name: ForeignName(whose, hint) for whose, table in reversed([*tables.items()]) for name, hint in table.items()
    }


@cache
def _known(of_environment: bool) -> Mapping[str, ForeignName]:
    return {without_style(name): found for name, found in foreign_names(of_environment=of_environment).items()}
