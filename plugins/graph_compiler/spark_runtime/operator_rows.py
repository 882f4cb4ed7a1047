"""Which rows of an executed plan are an operator's output. Pure: plan in, counts out.

    Filter[late]                   late    what Filter gave
      Join[joined]                 joined  what Join gave
        Scan[flights] …            flights what Scan gave

The optimizer moves things. Where it puts `late` below the join, Join gives what `late` would have given, and nobody
knows how many rows `joined` alone has:

    Join[joined]                   late    what Join gave: all of late and of what it reads is at or below it
      Filter[late]                 joined  unknown: something of `late`, which reads it, is below
        Scan[flights]              flights what Scan gave

So the rows of an operator are those of the highest subtree that holds it and nothing but what it reads, if none of
these has a part above. What nobody owns and may drop rows makes everything around it unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graph_compiler.spark_runtime.executed_plan import PlanNode


def operator_rows(plan: PlanNode, upstream: Mapping[int, frozenset[int]]) -> dict[int, int]:
    """Give the rows of operators by node id, as far as known. `upstream`: all that each of them reads, near or far.

    Of an operator that was computed in several places the highest count is given: others may have ended early (LIMIT).
    """
    found = {}
    for owner in sorted(plan.all_owners & set(upstream)):
        rows = list(_rows(plan, owner, upstream[owner] | {owner}, is_broken=False))
        if rows:
            found[owner] = max(rows)
    return found


def _rows(node: PlanNode, owner: int, allowed: frozenset[int], *, is_broken: bool) -> Iterator[int]:
    if owner not in node.all_owners:
        return
    if node.all_owners <= allowed and not node.holds_foreign:
        if not is_broken and node.rows is not None:
            yield node.rows
        return
    broken_below = is_broken or node.is_foreign or bool(node.owners & allowed)
    for child in node.children:
        yield from _rows(child, owner, allowed, is_broken=broken_below)
