"""Operators as frozen values, which the Spark side evaluates (`spark_runtime/operators/`).

Expressions are Spark SQL text, columns are names. `:late_after` in an expression is the pipeline's parameter
`late_after`, bound as a typed value; Jinja is refused in expressions (see `Operator.expressions`).
To add an operator, here or in your own package: CONTRIBUTING.md.
"""

from graph_compiler.declaration.operators.base_operator import ChainingStrategy, Operator, OperatorAttributes
from graph_compiler.declaration.operators.combining import (
    Except,
    Intersect,
    IntervalJoin,
    IterationHead,
    IterationTail,
    Join,
    JoinType,
    SetOperator,
    Sql,
    UnionByName,
)
from graph_compiler.declaration.operators.contracts import (
    ContractOperator,
    Expect,
    ExpectFresh,
    ExpectIn,
    ExpectRows,
    ExpectSame,
    ExpectUnique,
    OnViolation,
    RowContract,
    TotalContract,
)
from graph_compiler.declaration.operators.endpoints import Backfill, PreviousVersion, Sink, Source
from graph_compiler.declaration.operators.functions import (
    ApplyInPandas,
    Batches,
    FunctionOperator,
    Iterate,
    KeyedProcess,
    MapPartitions,
    Process,
    Transform,
)
from graph_compiler.declaration.operators.grouping import Aggregate, AggregateAll, Deduplicate, WindowAggregate
from graph_compiler.declaration.operators.merge import Merge
from graph_compiler.declaration.operators.operator_settings import OperatorSettings, RuntimeSettings
from graph_compiler.declaration.operators.ordering import Limit, Sort, TopN
from graph_compiler.declaration.operators.rows import (
    Cache,
    Cast,
    Drop,
    Filter,
    FlatMap,
    Rename,
    Sample,
    Select,
    StorageLevel,
    TimestampsAndWatermarks,
    WithColumns,
)

__all__ = [
    "Aggregate",
    "AggregateAll",
    "ApplyInPandas",
    "Backfill",
    "Batches",
    "Cache",
    "Cast",
    "ChainingStrategy",
    "ContractOperator",
    "Deduplicate",
    "Drop",
    "Except",
    "Expect",
    "ExpectFresh",
    "ExpectIn",
    "ExpectRows",
    "ExpectSame",
    "ExpectUnique",
    "Filter",
    "FlatMap",
    "FunctionOperator",
    "Intersect",
    "IntervalJoin",
    "Iterate",
    "IterationHead",
    "IterationTail",
    "Join",
    "JoinType",
    "KeyedProcess",
    "Limit",
    "MapPartitions",
    "Merge",
    "OnViolation",
    "Operator",
    "OperatorAttributes",
    "OperatorSettings",
    "PreviousVersion",
    "Process",
    "Rename",
    "RowContract",
    "RuntimeSettings",
    "Sample",
    "Select",
    "SetOperator",
    "Sink",
    "Sort",
    "Source",
    "Sql",
    "StorageLevel",
    "TimestampsAndWatermarks",
    "TopN",
    "TotalContract",
    "Transform",
    "UnionByName",
    "WindowAggregate",
    "WithColumns",
]
