"""Find an operator's output by name: `flown`, a uid, or `flown.cancelled` for a side output."""

from __future__ import annotations

from dataclasses import dataclass

from graph_compiler.declaration.operators import Sink
from graph_compiler.errors import GraphCompilerError
from graph_compiler.graphs.stream_graph import StreamGraph, StreamNode
from graph_compiler.identifiers import did_you_mean, listing


class OperatorNotFoundError(GraphCompilerError):
    """No operator, or more than one, has this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedOutput:
    """An operator, and the tag of one of its outputs, None for the main one."""

    node: StreamNode
    tag: str | None

    @property
    def is_sink(self) -> bool:
        """Whether it is a sink: it has no output, so its rows are those it receives."""
        return isinstance(self.node.operator, Sink)

    @property
    def name(self) -> str:
        """Return the operator's name, with the tag of a side output: `flown.cancelled`."""
        name = self.node.declared_name
        return name if self.tag is None else f"{name}.{self.tag}"


def find_output(graph: StreamGraph, name: str) -> NamedOutput:
    """Return the output with a name or uid; if an operator and a sink have the same name, the operator's.

    Raises OperatorNotFoundError, which lists the existing names, if none or several match.
    """
    outputs = _outputs(graph)
    found = [output for output in outputs if name in (output.name, _uid(output))]
    of_operators = [output for output in found if not output.is_sink]
    match of_operators or found:
        case [only]:
            return only
        case []:
            raise OperatorNotFoundError(_not_found(graph, name, [each.name for each in outputs]))
        case several:
            raise OperatorNotFoundError(_ambiguous(graph, name, several))


def find_sink(graph: StreamGraph, name: str) -> StreamNode:
    """Return the sink with a name or uid; raises OperatorNotFoundError like `find_output`."""
    sinks = [output for output in _outputs(graph) if output.is_sink]
    found = [sink for sink in sinks if name in (sink.name, sink.node.settings.uid)]
    if len(found) == 1:
        return found[0].node
    if found:
        raise OperatorNotFoundError(_ambiguous(graph, name, found))
    raise OperatorNotFoundError(_not_found(graph, name, [sink.name for sink in sinks], noun="sink"))


def _outputs(graph: StreamGraph) -> list[NamedOutput]:
    return [NamedOutput(node=node, tag=tag) for node in graph.nodes for tag in (None, *node.operator.output_tags())]


def _uid(output: NamedOutput) -> str | None:
    uid, tag = output.node.settings.uid, output.tag
    return uid if uid is None or tag is None else f"{uid}.{tag}"


def _not_found(graph: StreamGraph, name: str, known: list[str], noun: str = "operator") -> str:
    lines = [f"pipeline '{graph.job_name}' has no {noun} '{name}'", f"  allowed: {listing(known)}"]
    ends = [each for each in known if each.endswith(f".{name}")]
    hint = f"did you mean '{ends[0]}'?" if ends else did_you_mean(name, known)
    return "\n".join([*lines, *([f"  hint: {hint}"] if hint else [])])


def _ambiguous(graph: StreamGraph, name: str, found: list[NamedOutput]) -> str:
    places = [str(output.node.declared_at or output.node.description) for output in found]
    return (
        f"pipeline '{graph.job_name}' has {len(found)} operators called '{name}'\n"
        f"  found: {listing(places)}\n"
        "  hint: give the one you mean its own name or uid"
    )
