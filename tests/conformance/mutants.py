"""One-line changes to the rules that follow Flink, each of which the corpus or a table must notice.

    python -m tests.conformance.mutants [NAME…]

Each mutant is put into a copy of the package, and the conformance tests are run against it. Ends with
`N killed, M survived`; exit code 1 if any survived.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tests.mutants import Edit, changed_package, misplaced, run_pytest

REGIONS = (
    "tests/compiler/test_scheduling_topology.py"  # the corpus has no cycle of execution regions
)


@dataclass(frozen=True)
class Mutant:
    """`old` occurs exactly once in the file below plugins/graph_compiler, and becomes `new`."""

    name: str
    file: str
    old: str
    new: str

    @property
    def edit(self) -> Edit:
        """Return the edit."""
        return Edit(self.file, self.old, self.new)


CHAINING = "compiler/job_graph/chaining.py"
HASHER = "compiler/job_graph/hasher.py"
DRAFT = "compiler/stream_graph/stream_graph_draft.py"
MODES = "compiler/job_graph/exchange_modes.py"
JOB = "compiler/job_graph/job_graph_generator.py"
SIZES = "compiler/job_graph/vertex_parallelism.py"
DISTRIBUTION = "graphs/distribution.py"
TOPOLOGY = "compiler/execution_graph/scheduling_topology_builder.py"
FAILOVER = "deployment/scheduling/failover.py"
SCHEDULING = "deployment/scheduling/scheduling.py"
STATES = "graphs/execution.py"
TYPES = "graphs/job_graph.py"

MUTANTS = (
    Mutant(
        "chain over several inputs",
        CHAINING,
        "if len(graph.in_edges[edge.target_id]) != 1:",
        "if False:",
    ),
    Mutant("chain with chaining off", CHAINING, "(not options.chaining_enabled,", "(False,"),
    Mutant(
        "chain over groups",
        CHAINING,
        "(source.slot_sharing_group != target.slot_sharing_group,",
        "(False,",
    ),
    Mutant(
        "chain behind NEVER",
        CHAINING,
        "(source.chaining_strategy is ChainingStrategy.NEVER,",
        "(False,",
    ),
    Mutant("chain a hash", CHAINING, "(not edge.partitioner.is_forward,", "(False,"),
    Mutant("chain into HEAD", CHAINING, "(not _may_follow(source, target),", "(False,"),
    Mutant("chain over max parallelism", CHAINING, "(not same_max,", "(False,"),
    Mutant("chain a BATCH edge", CHAINING, "(_is_staged(edge, graph, options),", "(False,"),
    Mutant("absorb below a union", CHAINING, "(_shares_input_number(edge, graph),", "(False,"),
    Mutant(
        "yield behind a legacy source",
        CHAINING,
        "target.operator.attributes.is_yielding and",
        "False and",
    ),
    Mutant(
        "absorb with two outputs",
        CHAINING,
        "len(edges := graph.out_edges[node.id]) == 1",
        "len(edges := graph.out_edges[node.id]) > 0",
    ),
    Mutant(
        "chained children last",
        CHAINING,
        "return iter(inside + outside)",
        "return iter(outside + inside)",
    ),
    Mutant(
        "own edges first",
        CHAINING,
        "= below + [edge for edge in edges if",
        "= [edge for edge in edges if",
    ),
    Mutant("hash without chained outputs", HASHER, "(1 + chained_outputs)", "1"),
    Mutant("hash big-endian", HASHER, 'pack("<i"', 'pack(">i"'),
    Mutant("hash times 31", HASHER, "* 37 ^ byte", "* 31 ^ byte"),
    Mutant(
        "hash sources downward",
        HASHER,
        "if not graph.in_edges[node.id])",
        "if not graph.in_edges[node.id])[::-1]",
    ),
    Mutant(
        "hash ignores the uid",
        HASHER,
        "if node.settings.uid is not None:\n        return",
        "if False:\n        return",
    ),
    Mutant(
        "rebalance where equal",
        DRAFT,
        "return declared or unspecified",
        "return declared or RebalancePartitioner()",
    ),
    Mutant(
        "farthest partitioner",
        DRAFT,
        "partitioner = partitioner or virtual.partitioner",
        "partitioner = virtual.partitioner or partitioner",
    ),
    Mutant(
        "nearest exchange mode",
        DRAFT,
        "exchange_mode = virtual.exchange_mode",
        "exchange_mode = exchange_mode if exchange_mode.value != 'UNDEFINED' else virtual.exchange_mode",
    ),
    Mutant("no group inheritance", DRAFT, "return groups.pop() if len(groups) == 1 else", "return"),
    Mutant(
        "keyed stays in its chain",
        "compiler/stream_graph/translators.py",
        "chaining_strategy=ChainingStrategy.HEAD)",
        "chaining_strategy=ChainingStrategy.ALWAYS)",
    ),
    Mutant("selective broadcast", MODES, "and edge.partitioner.is_broadcast:", "and False:"),
    Mutant("after the end in memory", MODES, "elif after_end:", "elif False:"),
    Mutant(
        "share pipelined results",
        JOB,
        "may_share = self.kind.is_reconsumable or self.kind.is_hybrid",
        "may_share = True",
    ),
    Mutant("share whatever the split", JOB, "self.edge.partitioner == edge.partitioner", "True"),
    Mutant(
        "share whatever the size", JOB, "and facts.sizes[one] == facts.sizes[other]", "and True"
    ),
    Mutant(
        "sort edge by edge",
        JOB,
        "all(edge.source_id in order for edge in in_edges[target_id])",
        "any(edge.source_id in order for edge in in_edges[target_id])",
    ),
    Mutant(
        "name with the wrong arrow",
        "compiler/job_graph/chain_words.py",
        "{own} -> {only}",
        "{own} => {only}",
    ),
    Mutant(
        "dynamic parallelism decided",
        SIZES,
        "is_open = graph.is_dynamic and",
        "is_open = False and",
    ),
    Mutant("no forward groups", SIZES, "ties = [(", "ties = [] and [("),
    Mutant(
        "pointwise rounded down",
        DISTRIBUTION,
        "-(-partition * consumers // producers)",
        "partition * consumers // producers",
    ),
    Mutant(
        "default max parallelism",
        "compiler/execution_graph/execution_graph_builder.py",
        "parallelism // 2 - 1",
        "parallelism // 2",
    ),
    Mutant(
        "readers edge by edge",
        "compiler/execution_graph/execution_graph_builder.py",
        "for vertex in graph.vertices\n            for edge in graph.in_edges[vertex.id]",
        "for edge in graph.edges",
    ),
    Mutant(
        "all-to-all split apart", TOPOLOGY, "return [tasks]", "return [[task] for task in tasks]"
    ),
    Mutant("cycles not merged", TOPOLOGY, "if not waits:", "if True:"),
    Mutant("consumers not restarted", FAILOVER, "following += group.consumers", "following += ()"),
    Mutant(
        "producers not restarted",
        FAILOVER,
        "following += _producers_of_lost(group, topology, unavailable)",
        "pass",
    ),
    Mutant(
        "pipelined results kept", FAILOVER, "or not group.result_type.is_reconsumable", "or False"
    ),
    Mutant(
        "deploy before the input", SCHEDULING, "if producer not in progress.finished)", "if False)"
    ),
    Mutant("hybrid consumers wait", SCHEDULING, "following.update(", "{}.update("),
    Mutant(
        "release after the first consumer",
        SCHEDULING,
        "and all(_is_finished(",
        "and any(_is_finished(",
    ),
    Mutant(
        "release pipelined results",
        TYPES,
        "return self is not ResultPartitionType.PIPELINED_BOUNDED",
        "return True",
    ),
    Mutant(
        "running before initializing",
        STATES,
        "_step(state, ExecutionState.INITIALIZING, reported)",
        "_step(state, ExecutionState.DEPLOYING, reported)",
    ),
    Mutant(
        "failed while canceling",
        STATES,
        "if state is ExecutionState.CANCELING:\n        return ExecutionState.CANCELED\n    return state if",
        "return state if",
    ),
    Mutant(
        "history of fifteen", "declaration/retention.py", "HISTORY_SIZE = 16", "HISTORY_SIZE = 15"
    ),
)


def main(names: list[str]) -> int:
    """Run the mutants, two at a time."""
    if lost := misplaced(mutant.edit for mutant in MUTANTS):
        sys.exit("\n".join(lost))
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(_is_killed, chosen))
    for mutant, killed in zip(chosen, results, strict=True):
        print(f"{'killed  ' if killed else 'SURVIVED'}  {mutant.name}")
    survived = results.count(False)
    print(f"{len(results) - survived} killed, {survived} survived")
    return 1 if survived else 0


def _is_killed(mutant: Mutant) -> bool:
    with changed_package([mutant.edit]) as package:
        return run_pytest(package, "-x", "tests/conformance", REGIONS).returncode == 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
