"""A plan as text: the tasks, what runs in each, and every staged edge with its reason.

flights · 9 operators · 6 vertices · 2 tasks
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graph_compiler.explain.plan.plan import FailureCost, Plan, PlanJobEdge, PlanRegion, PlanVertex
from graph_compiler.graphs.regions import DeploymentTask
from graph_compiler.graphs.topology import connected_components
from graph_compiler.identifiers import TaskName, counted, listing

_NAMED = 3


def explain_text(plan: Plan) -> str:
    """Return the plan as lines of text, which depend only on the declaration."""
    return "\n".join(_lines(plan))


def explain_tasks(plan: Plan) -> dict[TaskName, str]:
    """Return the part of `explain_text` for each task, by its id."""
    return {id: "\n".join(lines) for id, lines in _task_lines(plan)}


def _lines(plan: Plan) -> Iterator[str]:
    sizes = [
        counted(len(plan.operators), "operator"),
        counted(len(plan.vertices), "vertex", "vertices"),
        counted(len(plan.tasks), "task"),
    ]
    if len(plan.regions) > len(plan.tasks):
        sizes.append(counted(len(plan.regions), "region"))
    yield " · ".join((plan.pipeline, *sizes))
    if plan.options:
        yield from ("", "options")
        yield from (f"  {option.key} = {option.value} ({option.set_by})" for option in plan.options)
    for _, lines in _task_lines(plan):
        yield ""
        yield from lines
    if len(plan.regions) > 1:
        yield ""
        yield f"As one region, the pipeline would repeat all {len(plan.operators)} operators."


def _task_lines(plan: Plan) -> Iterator[tuple[TaskName, list[str]]]:
    for task in plan.tasks:
        regions = [plan.region[id] for id in task.region_ids]
        count = f" · {counted(len(regions), 'region')}" if len(regions) > 1 else ""
        words = regions[0].group_words
        lines = [f"task {task.id}{count}" + (f"    [slot sharing group {words}]" if words else "")]
        lines += [
            f"  apart from task {apart.other}, because {apart.explanation}"
            for apart in plan.apart
            if apart.task == task.id
        ]
        parts = _unconnected(task, plan)
        if len(parts) > 1:
            lines.append(f"  no edge connects {listing(parts)}: they become ready together, and share an application")
        for region in regions:
            own = _region_lines(region, plan)
            if len(regions) == 1:
                lines += own
            else:
                lines += [f"  region {region.id}", *(f"  {line}" for line in own)]
        yield task.id, lines


def _unconnected(task: DeploymentTask, plan: Plan) -> list[str]:
    """Return the first region of each part of a task: no edge leads from one part to another."""
    inside = [
        (producer.id, id)
        for id in task.region_ids
        for vertex in plan.region[id].vertices
        for edge in plan.inputs[vertex]
        if (producer := plan.region_of(edge.source)).task == task.id
    ]
    return [part[0] for part in connected_components(task.region_ids, inside)]


def _region_lines(region: PlanRegion, plan: Plan) -> Iterator[str]:
    for id in region.vertices:
        yield from _vertex_lines(plan.vertex[id], plan)
    if region.is_stream:
        yield "  a stream: each run publishes what has arrived, batch by batch; a failure repeats one batch"
    else:
        yield f"  a failure at its end {_cost_words(region.failure_cost, len(plan.operators))}"


def _cost_words(cost: FailureCost, operators: int) -> str:
    if len(cost.repeated) == operators:
        repeated, names = f"all {counted(operators, 'operator')}", []
    else:
        repeated, names = f"{len(cost.repeated)} of {operators} operators", [_some(cost.repeated)]
    if cost.expensive:
        verb = "is" if len(cost.expensive) == 1 else "are"
        names.append(f"{listing(cost.expensive)} {verb} expensive")
    about = f" ({'; '.join(names)})" if names else ""
    spared = f", and reads {_some(cost.reread)} again instead of computing {cost.spared} more"
    return f"repeats {repeated}{about}{spared if cost.reread else ''}"


def _some(names: Sequence[str]) -> str:
    """Return a few names in full; if there are more, only the first two and the last."""
    if len(names) > _NAMED:
        return f"{', '.join(names[:2])}, … {names[-1]}"
    return listing(names)


def _vertex_lines(vertex: PlanVertex, plan: Plan) -> Iterator[str]:
    about = (
        f"parallelism: {vertex.parallelism}" if vertex.parallelism_configured else None,
        vertex.needs,
        counted(vertex.input_splits, "input split") if vertex.input_splits else None,
    )
    yield "".join((f"  {vertex.name}", *(f"    [{words}]" for words in about if words)))
    operators = [plan.operator[id] for id in vertex.operators]
    yield from (f"    {one.name}: emits rows when it has read all its input" for one in operators if one.waits_for_end)
    yield from (f"    {one.name}: {one.staged_once}" for one in operators if one.staged_once)
    yield from (f"    {one.name}: {one.position}" for one in operators if one.position)
    yield from (f"    {one.name}: counted {one.counted_apart}" for one in operators if one.counted_apart)
    yield from (f"    {one.name}: delivered {one.delivery}" for one in operators if one.delivery)
    yield from (f"    columns of {one.name}: {one.sink_columns}" for one in operators if one.sink_columns)
    for edge in plan.inputs[vertex.id]:
        yield f"    ◀─ {_edge_words(edge, plan)}"
        if edge.explanation:
            yield f"       {edge.explanation}"


def _edge_words(edge: PlanJobEdge, plan: Plan) -> str:
    tag = f".{edge.output_tag}" if edge.output_tag else ""
    words = f"{plan.operator[edge.from_operator].name}{tag} · {edge.words}"
    source, target = plan.region_of(edge.source), plan.region_of(edge.target)
    if edge.reads_source_again:
        return f"{words} · read again, from the files that were listed for region {source.id}"
    if not edge.is_staged:
        is_copied = plan.operator[edge.from_operator].staged_once and not edge.output_tag
        return f"{words} · read from the copy that is staged" if is_copied else f"{words} · in memory"
    if source.id == target.id:
        return f"{words} · staged read back here"
    if source.task == target.task:
        return f"{words} · staged by region {source.id} of this task"
    return f"{words} · staged by task {source.task}"
