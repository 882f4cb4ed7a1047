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

REGIONS = "tests/compiler/test_scheduling_topology.py"  # the corpus has no cycle of execution regions


@dataclass(frozen=True)
class Mutant:
    """An edit with a name (`tests.mutants.Edit`)."""

    name: str
    within: str
    old: str
    new: str

    @property
    def edit(self) -> Edit:
        """Return the edit."""
        return Edit(self.within, self.old, self.new)


MUTANTS = (
    Mutant(
        "chain over several inputs", "why_not_chainable", "if len(graph.in_edges[edge.target_id]) != 1:", "if False:"
    ),
    Mutant("chain with chaining off", "why_not_joined", "(not options.chaining_enabled,", "(False,"),
    Mutant("chain over groups", "why_not_joined", "(graph.changes_group(edge),", "(False,"),
    Mutant("chain behind NEVER", "why_not_joined", "(source.chaining_strategy is ChainingStrategy.NEVER,", "(False,"),
    Mutant("chain a hash", "why_not_joined", "(not edge.partitioner.is_forward,", "(False,"),
    Mutant("chain into HEAD", "why_not_joined", "(not _may_follow(source, target),", "(False,"),
    Mutant("chain over max parallelism", "why_not_joined", "(not same_max,", "(False,"),
    Mutant("chain a BATCH edge", "why_not_joined", "(_is_staged(edge, graph, options),", "(False,"),
    Mutant("absorb below a union", "why_not_joined", "(_shares_input_number(edge, graph),", "(False,"),
    Mutant("yield behind a legacy source", "why_not_joined", "target.operator.attributes.is_yielding and", "False and"),
    Mutant(
        "absorb with two outputs",
        "absorbed_sources",
        "len(edges := graph.out_edges[node.id]) == 1",
        "len(edges := graph.out_edges[node.id]) > 0",
    ),
    Mutant("chained children last", "_steps", "return iter(inside + outside)", "return iter(outside + inside)"),
    Mutant(
        "own edges first", "_OpenChain.finish", "= below + [edge for edge in edges if", "= [edge for edge in edges if"
    ),
    Mutant("hash without chained outputs", "_hash", "(1 + chained_outputs)", "1"),
    Mutant("hash big-endian", "_hash", 'pack("<i"', 'pack(">i"'),
    Mutant("hash times 31", "_hash", "* 37 ^ byte", "* 31 ^ byte"),
    Mutant(
        "hash sources downward",
        "hash_nodes",
        "if not graph.in_edges[node.id])",
        "if not graph.in_edges[node.id])[::-1]",
    ),
    Mutant(
        "hash ignores the uid",
        "_hash",
        "if node.settings.uid is not None:\n        return",
        "if False:\n        return",
    ),
    Mutant(
        "rebalance where equal",
        "StreamGraphDraft._partitioner",
        "return declared or unspecified",
        "return declared or RebalancePartitioner()",
    ),
    Mutant(
        "farthest partitioner",
        "StreamGraphDraft._route",
        "partitioner = partitioner or declared.partitioner",
        "partitioner = declared.partitioner or partitioner",
    ),
    Mutant(
        "nearest exchange mode",
        "StreamGraphDraft._route",
        "exchange_mode = declared.exchange_mode",
        "exchange_mode = exchange_mode if exchange_mode.value != 'UNDEFINED' else declared.exchange_mode",
    ),
    Mutant(
        "no group inheritance", "StreamGraphDraft._group", "group = shared.pop() if len(shared) == 1 else", "group ="
    ),
    Mutant(
        "keyed stays in its chain",
        "_starting_a_chain.translate_head",
        "chaining_strategy=ChainingStrategy.HEAD)",
        "chaining_strategy=ChainingStrategy.ALWAYS)",
    ),
    Mutant("selective broadcast", "result_type", "and edge.partitioner.is_broadcast:", "and False:"),
    Mutant("after the end in memory", "result_type", "elif after_end:", "elif False:"),
    Mutant("sorts do not say it", "Operator.outputs_only_after_end", "return self.waits_for_end or", "return False or"),
    Mutant(
        "share pipelined results",
        "_Produced.can_serve",
        "may_share = self.kind.is_reconsumable or self.kind.is_hybrid",
        "may_share = True",
    ),
    Mutant("share whatever the split", "_Produced.can_serve", "self.edge.partitioner == edge.partitioner", "True"),
    Mutant("share whatever the size", "_Produced.can_serve", "and facts.sizes[one] == facts.sizes[other]", "and True"),
    Mutant(
        "sort edge by edge",
        "_topological_order",
        "all(edge.source_id in order for edge in in_edges[target_id])",
        "any(edge.source_id in order for edge in in_edges[target_id])",
    ),
    Mutant("name with the wrong arrow", "_in_a_row", "{own} -> {only}", "{own} => {only}"),
    Mutant("dynamic parallelism decided", "_declared_size", "is_open = graph.is_dynamic and", "is_open = False and"),
    Mutant("no forward groups", "vertex_sizes", "ties = [(", "ties = [] and [("),
    Mutant(
        "pointwise rounded down",
        "partition_groups",
        "-(-partition * consumers // producers)",
        "partition * consumers // producers",
    ),
    Mutant("default max parallelism", "default_max_parallelism", "parallelism // 2 - 1", "parallelism // 2"),
    Mutant(
        "readers edge by edge",
        "build_execution_graph",
        "for vertex in graph.vertices\n            for edge in graph.in_edges[vertex.id]",
        "for edge in graph.edges",
    ),
    Mutant("all-to-all split apart", "_regions", "return [tasks]", "return [[task] for task in tasks]"),
    Mutant("cycles not merged", "_merge_cycles", "if not waits:", "if True:"),
    Mutant("consumers not restarted", "restart_set", "following += group.consumers", "following += ()"),
    Mutant(
        "producers not restarted",
        "restart_set",
        "following += _producers_of_lost(group, topology, unavailable)",
        "pass",
    ),
    Mutant("pipelined results kept", "_producers_of_lost", "or not group.result_type.is_reconsumable", "or False"),
    Mutant("deploy before the input", "_unfinished", "if producer not in progress.finished)", "if False)"),
    Mutant("hybrid consumers wait", "_deploy", "following.update(", "{}.update("),
    Mutant("release after the first consumer", "releasable_groups", "and all(_is_finished(", "and any(_is_finished("),
    Mutant(
        "release pipelined results",
        "ResultPartitionType.is_released_by_scheduler",
        "return self is not ResultPartitionType.PIPELINED_BOUNDED",
        "return True",
    ),
    Mutant(
        "running before initializing",
        "report_state",
        "_step(state, ExecutionState.INITIALIZING, reported)",
        "_step(state, ExecutionState.DEPLOYING, reported)",
    ),
    Mutant(
        "failed while canceling",
        "mark_failed",
        "if state is ExecutionState.CANCELING:\n        return ExecutionState.CANCELED\n    return state if",
        "return state if",
    ),
    Mutant("history of fifteen", "HISTORY_SIZE", "HISTORY_SIZE = 16", "HISTORY_SIZE = 15"),
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
