"""Nondeterministic functions and operators, and how each is treated: one table.

Two actions of one application, two attempts and a recomputation evaluate a plan again. Catalyst knows that the result
of some expressions then differs (`rand()`), and treats others as deterministic although they depend on the order of
rows (`first(x)`, a limit), which a shuffle does not keep. `docs/repeatability.md` shows this table, and a test compares
them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from graph_compiler.declaration.sql_text import code_of


class Treatment(StrEnum):
    """How a nondeterministic function or operator is treated.

    RUN_VALUE  one value for the whole run, which every action, task and attempt uses
    STAGED     staged once if it has several readers, so that all of them read the same rows
    SPLIT      staged once before an operator with side outputs, so that each row is in exactly one of them
    REFUSED    refused when the pipeline is compiled
    LEFT       not changed, for the reason given
    """

    RUN_VALUE = "one value for the run"
    STAGED = "staged where read twice"
    SPLIT = "staged before a split"
    REFUSED = "refused"
    LEFT = "left"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaryingRows:
    """One row of the table. `classes` are Catalyst's, if the plan shows it; `calls` are the names in SQL text."""

    what: str
    treatment: Treatment
    reason: str
    classes: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


RUN_TIME = VaryingRows(
    what="current_timestamp(), now(), current_date(), localtimestamp(), current_time(), unix_timestamp()",
    treatment=Treatment.RUN_VALUE,
    reason="Spark looks at its clock for every action; a run has one now",
)
SPECIAL_STRINGS = VaryingRows(
    what="CAST('now' AS TIMESTAMP), to_date('today')",
    treatment=Treatment.RUN_VALUE,
    reason="the same clock, behind a string",
)
TYPED_LITERALS = VaryingRows(
    what="TIMESTAMP 'now', DATE 'today'",
    treatment=Treatment.REFUSED,
    reason="Spark's parser reads the clock, and nothing of it is left in the plan",
)
RANDOM = VaryingRows(
    what="rand(), randn(), uuid(), shuffle(), randstr(), uniform(), reflect(), java_method()",
    treatment=Treatment.STAGED,
    reason="its value differs each time",
    calls=(
        *("rand", "random", "randn", "uuid", "shuffle", "randstr", "uniform"),
        *("reflect", "java_method", "try_reflect"),
    ),
)
NAMES_OF_FILES = ("input_file_name", "input_file_block_start", "input_file_block_length")
"""Functions that Spark answers for rows of files, in the task that reads them."""
PLACES = VaryingRows(
    what="monotonically_increasing_id(), spark_partition_id(), input_file_name() and _block_start(), zipWithIndex()",
    treatment=Treatment.STAGED,
    reason="it depends on where a row is computed, not on what it holds",
    classes=("AttachDistributedSequence",),
    calls=(*("monotonically_increasing_id", "spark_partition_id"), *NAMES_OF_FILES),
)
STAGED_FILES = VaryingRows(
    what="input_file_name(), input_file_block_start() and _length(), _metadata, of rows that are staged before",
    treatment=Treatment.REFUSED,
    reason="it would name a file of the staging root, and which rows are staged depends on the plan",
)
ANY_ROWS = VaryingRows(
    what="LIMIT, OFFSET, TABLESAMPLE, limit(), top_n(), sample(), deduplicate() and dropDuplicates() by key",
    treatment=Treatment.STAGED,
    reason="which rows it keeps depends on the order in which they arrive",
    classes=("GlobalLimit", "LocalLimit", "Offset", "Tail", "Sample", "Deduplicate"),
)
ANY_VALUE = VaryingRows(
    what="first(), last(), any_value(), collect_list(), collect_set(), array_agg(), listagg() not sorted",
    treatment=Treatment.STAGED,
    reason="its value depends on the order in which rows arrive",
    classes=(
        *("First", "Last", "AnyValue", "CollectList", "CollectSet", "ListAgg"),
        *("PivotFirst", "HistogramNumeric"),
    ),
    calls=(
        *("first", "first_value", "last", "last_value", "any_value"),
        *("collect_list", "collect_set", "array_agg", "listagg", "string_agg", "histogram_numeric"),
    ),
)
TIES = VaryingRows(
    what="max_by(), min_by(), mode() without an order",
    treatment=Treatment.STAGED,
    reason="it takes an arbitrary row among those that are equal in its order",
    classes=("MaxBy", "MinBy", "MaxMinByK", "Mode"),
    calls=("max_by", "min_by", "mode"),
)
EQUAL_TEXTS = VaryingRows(
    what="groups, DISTINCT, UNION, INTERSECT, EXCEPT, min() and max() over text whose collation treats texts as equal",
    treatment=Treatment.STAGED,
    reason="it keeps the first of several texts that are equal and not identical, as rows arrive",
)
DROPPED_RECORDS = VaryingRows(
    what="a reader with the mode DROPMALFORMED, in a function, a query or a table of Spark's catalog",
    treatment=Treatment.STAGED,
    reason="which records it drops depends on the columns that are read",
)
SKETCHES = VaryingRows(
    what="percentile_approx(), approx_top_k(), sketches, and every aggregate that is not known to be free of order",
    treatment=Treatment.STAGED,
    reason="a sketch of rows depends on the order in which they arrive",
    calls=(
        *("percentile_approx", "approx_percentile", "approx_top_k", "approx_top_k_accumulate"),
        *("hll_sketch_agg", "theta_sketch_agg"),
        *("kll_sketch_agg_bigint", "kll_sketch_agg_float", "kll_sketch_agg_double"),
    ),
)
WINDOWS = VaryingRows(
    what="row_number(), ntile(), lag(), lead(), nth_value() and ROWS frames over an order that leaves ties",
    treatment=Treatment.STAGED,
    reason="it numbers rows that are equal in its order as they arrive",
    calls=("row_number", "ntile", "lag", "lead", "nth_value"),
)
CHANGING_SOURCES = VaryingRows(
    what="what has no snapshot and is not a list of files, read by a FunctionSource, a Table, SQL text or a function",
    treatment=Treatment.STAGED,
    reason="it may change while it is read",
)
DECLARED = VaryingRows(
    what="a function declared with deterministic=False", treatment=Treatment.STAGED, reason="it is declared so"
)
LAST_DIGITS = VaryingRows(
    what="sum(), avg(), stddev(), corr() and other arithmetic over DOUBLE or FLOAT",
    treatment=Treatment.SPLIT,
    reason="added in another order, the last digits differ; to stage every average would cost more than it is worth",
    classes=(
        *("Sum", "Average", "StddevPop", "StddevSamp", "VariancePop", "VarianceSamp"),
        *("Skewness", "Kurtosis", "Corr", "CovPopulation", "CovSample", "PearsonCorrelation"),
        *("RegrAvgX", "RegrAvgY", "RegrSlope", "RegrIntercept", "RegrR2"),
        *("RegrSXX", "RegrSXY", "RegrSYY", "RegrReplacement", "Product"),
    ),
)
ZEROS = VaryingRows(
    what="0.0 or -0.0 as min() or max() of DOUBLE or FLOAT, or in a window over an order in which only they are equal",
    treatment=Treatment.LEFT,
    reason="Spark compares them as equal, and to stage every maximum would cost more than it is worth",
)
FUNCTIONS = VaryingRows(
    what="functions that ask a clock, a random number or a service, or depend on the order or batches of rows",
    treatment=Treatment.LEFT,
    reason="it cannot be detected: declare deterministic=False, or call .asNondeterministic() on a UDF",
)
SESSION = VaryingRows(
    what="current_user(), current_database(), current_catalog(), current_timezone(), version()",
    treatment=Treatment.LEFT,
    reason="one value in a Spark session; it changes only where tasks run as another user or on another Spark",
)

VARYING_ROWS: tuple[VaryingRows, ...] = (
    *(RUN_TIME, SPECIAL_STRINGS, TYPED_LITERALS, RANDOM, PLACES, STAGED_FILES, ANY_ROWS),
    *(ANY_VALUE, TIES),
    *(EQUAL_TEXTS, DROPPED_RECORDS, SKETCHES, WINDOWS, CHANGING_SOURCES, DECLARED, LAST_DIGITS),
    *(ZEROS, FUNCTIONS, SESSION),
)

FREE_OF_ORDER = frozenset(
    {
        *("Count", "CountIf", "Min", "Max", "BoolAnd", "BoolOr", "RegrCount"),
        *("BitAndAgg", "BitOrAgg", "BitXorAgg", "HyperLogLogPlusPlus", "CountMinSketchAgg"),
        *("BloomFilterAggregate", "BitmapConstructAgg", "BitmapOrAgg", "BitmapAndAgg"),
        *("Percentile", "PercentileCont", "PercentileDisc", "Median"),
        *("PythonUDAF", "PythonUDF", "ScalaUDAF", "ScalaAggregator"),  # as declared by their author
    }
)
"""Catalyst's aggregates whose value does not depend on the order of rows."""
FREE_OF_TIES = frozenset({"Rank", "DenseRank", "PercentRank", "CumeDist"})
"""Catalyst's window functions that return the same value for rows that are equal in the order."""

_CALL = re.compile(r"\b([a-z_]\w*)\s*\(", re.IGNORECASE)


def called_in(expressions: tuple[str, ...]) -> tuple[str, VaryingRows] | None:
    """Return the first nondeterministic function in SQL text, with its row; Spark's plan decides in the end."""
    for expression in expressions:
        for call in _CALL.finditer(code_of(expression)):
            name = call[1].lower()
            for row in VARYING_ROWS:
                if name in row.calls:
                    return name, row
    return None
