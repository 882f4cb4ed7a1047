"""What other packages extend this one with. Their modules import these four, and nothing else of this package.

    graph_compiler.extending          what users declare: operators, connectors, listeners; the standard library only
    graph_compiler.extending.spark    the Spark half of operators and connectors: imports pyspark
    graph_compiler.extending.stores   stores of staged data, and both sides' access to them
    graph_compiler.extending.targets  execution targets

How: CONTRIBUTING.md and docs/targets.md. These names stay, wherever the modules move that define them.
"""

from graph_compiler.declaration.connectors import Connector, SinkMode
from graph_compiler.declaration.connectors.file_uris import lasting
from graph_compiler.declaration.coordination import InputSplit, RegionEvent, RegionEventKind, RegionListener
from graph_compiler.declaration.operators import ChainingStrategy, Operator, OperatorAttributes, Sink, Source
from graph_compiler.errors import Problem
from graph_compiler.identifiers import OperatorId

__all__ = [
    "ChainingStrategy",
    "Connector",
    "InputSplit",
    "Operator",
    "OperatorAttributes",
    "OperatorId",
    "Problem",
    "RegionEvent",
    "RegionEventKind",
    "RegionListener",
    "Sink",
    "SinkMode",
    "Source",
    "lasting",
]
