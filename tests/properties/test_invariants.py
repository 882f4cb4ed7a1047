"""What holds for every pipeline."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import mmh3
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graph_compiler.compiler.job_graph.hasher import hash_nodes
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.wire import from_wire, to_wire
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.plan.plan_writer import failure_costs
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from graph_compiler.graphs.job_graph import JobEdge
from graph_compiler.graphs.stream_graph import StagingReason
from graph_compiler.graphs.topology import connected_components, post_order
from graph_compiler.identifiers import RegionId, TaskName
from tests.harness.compiled_graphs import region_edges
from tests.properties.strategies import Step, declare, plans

ROOT = Path(__file__).parents[2]
_SOURCE = Step("source", (), None, None, staged=False, expensive=False, chaining=None)
READ_AGAIN = (
    _SOURCE,
    replace(_SOURCE, kind="filter", inputs=(0,), expensive=True),
    replace(_SOURCE, kind="join", inputs=(0, 1)),
)
"""A source that a region of the task reads again, after the one that has listed its files."""
MODES = st.sampled_from(["AUTO", "ALL_EXCHANGES_BLOCKING", "ALL_EXCHANGES_PIPELINED"])


def compiled(plan: tuple[Step, ...], mode: str = "AUTO", **config: str) -> CompiledPipeline:
    return compile_pipeline(declare(plan, None, shuffle_mode=mode, **config).pipeline())


@given(plans(), MODES)
def test_every_node_is_in_one_chain_and_every_edge_inside_one_or_one_job_edge(
    plan: tuple[Step, ...], mode: str
) -> None:
    pipeline = compiled(plan, mode)
    stream, job = pipeline.stream_graph, pipeline.job_graph
    assert sorted(id for vertex in job.vertices for id in vertex.node_ids) == sorted(stream.node)
    between = [edge.stream_edge.id for edge in job.edges]
    inside = [e.id for e in stream.edges if job.vertex_of_node[e.source_id] == job.vertex_of_node[e.target_id]]
    assert sorted(between + inside) == sorted(edge.id for edge in stream.edges)


@given(plans(), MODES)
def test_vertices_are_sorted_and_ids_are_distinct(plan: tuple[Step, ...], mode: str) -> None:
    job = compiled(plan, mode).job_graph
    position = {vertex.id: number for number, vertex in enumerate(job.vertices)}
    assert len(position) == len(job.vertices)
    assert all(position[edge.source_id] < position[edge.target_id] for edge in job.edges)


@given(plans(), MODES)
@example(READ_AGAIN, "AUTO")
def test_regions_are_acyclic_with_one_profile_each_and_every_cut_has_its_reason(
    plan: tuple[Step, ...], mode: str
) -> None:
    pipeline = compiled(plan, mode)
    job, deployment = pipeline.job_graph, pipeline.deployment
    region_of = deployment.region_of_vertex
    assert sorted(region_of) == sorted(vertex.id for vertex in job.vertices)
    assert all(
        job.vertex[id].slot_sharing_group == region.slot_sharing_group
        for region in deployment.regions
        for id in region.vertex_ids
    )
    order = [region.id for region in deployment.regions]
    assert len(set(order)) == len(order)
    for edge in job.edges:
        source, target = region_of[edge.source_id].id, region_of[edge.target_id].id
        if source != target and not edge.reads_source_again:
            assert edge.staging is not None
            assert edge.staging.explanation.startswith("because ")
            assert order.index(source) < order.index(target)
        assert edge.result_type.is_blocking == (edge.staging is not None or edge.reads_source_again)
        assert job.data_set[edge.data_set_id].result_type is edge.result_type


@given(plans(groups=False), MODES)
def test_exchange_modes_keep_their_promises(plan: tuple[Step, ...], mode: str) -> None:
    pipeline = compiled(plan, mode)
    job, deployment = pipeline.job_graph, pipeline.deployment
    if mode == "ALL_EXCHANGES_BLOCKING":
        assert [region.vertex_ids for region in deployment.regions] != []
        assert all(len(region.vertex_ids) == 1 for region in deployment.regions)
        assert region_edges(pipeline) == job.edges
    if mode == "ALL_EXCHANGES_PIPELINED":
        links = [(edge.source_id, edge.target_id) for edge in job.edges]
        assert len(deployment.regions) == len(connected_components([v.id for v in job.vertices], links))
    if mode == "AUTO":
        reasons = {edge.staging.reason for edge in job.edges if edge.staging}
        assert reasons <= {
            StagingReason.DECLARED,
            StagingReason.EXPENSIVE,
            StagingReason.CONTRACT,
            StagingReason.WOULD_CYCLE,
        }


@given(plans(pipelines=True), MODES)
def test_what_is_declared_pipelined_is_in_one_region_or_refused(plan: tuple[Step, ...], mode: str) -> None:
    try:
        pipeline = compiled(plan, mode)
    except InvalidPipelineError as refusal:
        told = [problem.message for problem in refusal.problems]
    else:
        told = []
    assert all("is declared pipelined" in message for message in told)
    if told:
        return
    assert not any(edge.stream_edge.pipelining_text for edge in pipeline.job_graph.staged_edges)
    job = pipeline.job_graph
    ties = [(e.source_id, e.target_id) for e in job.edges if e.stream_edge.pipelining_text]
    region_of = pipeline.deployment.region_of_vertex
    assert all(region_of[one] == region_of[other] for one, other in ties)
    if mode == "ALL_EXCHANGES_BLOCKING":
        together = connected_components([vertex.id for vertex in job.vertices], ties)
        assert {frozenset(region.vertex_ids) for region in pipeline.deployment.regions} == {
            frozenset(group) for group in together
        }


@given(plans())
def test_no_reader_of_an_expensive_operator_runs_in_its_region(plan: tuple[Step, ...]) -> None:
    pipeline = compiled(plan)
    graph, region_of = pipeline.stream_graph, pipeline.deployment.region_of_vertex
    vertex_of = pipeline.job_graph.vertex_of_node
    for node in graph.nodes:
        readers = {edge.target_id for edge in graph.out_edges[node.id]}
        if node.settings.expensive and not (len(readers) == 1 and readers <= set(graph.sink_ids)):
            own = region_of[vertex_of[node.id].id]
            assert all(region_of[vertex_of[id].id] != own for id in readers)


@given(plans())
@example(READ_AGAIN)
def test_each_operator_is_repeated_by_the_failure_of_one_region(plan: tuple[Step, ...]) -> None:
    pipeline = compiled(plan)
    costs, job = failure_costs(pipeline), pipeline.job_graph
    again = {
        region.id: {
            edge.stream_edge.source_id
            for vertex in region.vertex_ids
            for edge in job.in_edges[vertex]
            if edge.reads_source_again
        }
        for region in pipeline.deployment.regions
    }
    repeated = [name for cost in costs.values() for name in cost.repeated]
    read_again = [pipeline.stream_graph.node[id] for ids in again.values() for id in ids]
    nodes = [*pipeline.stream_graph.nodes, *read_again]
    assert sorted(repeated) == sorted(node.declared_name for node in nodes)
    for region in pipeline.deployment.regions:
        own = {id for v in region.vertex_ids for id in job.vertex[v].node_ids} | again[region.id]
        before = post_order(own, lambda id: [edge.source_id for edge in pipeline.stream_graph.in_edges[id]])
        assert costs[region.id].spared == len(set(before) - own)
        assert bool(costs[region.id].reread) == bool(costs[region.id].spared)


@given(plans(), MODES)
def test_a_region_reads_only_what_an_earlier_one_stages(plan: tuple[Step, ...], mode: str) -> None:
    staged: set[str] = set()
    for region in describe_regions(compiled(plan, mode)):
        own = {result.id for result in region.results}
        reads = {e.staged.id for v in region.vertices for op in v.operators for e in op.inputs if e.staged is not None}
        assert reads <= staged | own
        staged |= own
        assert from_wire(RegionDescriptor, to_wire(region)) == region


@given(plans())
def test_chaining_off_gives_as_many_vertices_as_nodes(plan: tuple[Step, ...]) -> None:
    pipeline = compiled(plan, chaining="false")
    assert len(pipeline.job_graph.vertices) == len(pipeline.stream_graph.nodes)


@given(plans())
def test_an_unrelated_branch_changes_no_id_that_a_uid_pins(plan: tuple[Step, ...]) -> None:
    def pinned(plan: tuple[Step, ...]) -> dict[str, str]:
        graph = compiled(plan).stream_graph
        hashes = hash_nodes(graph, dict.fromkeys((edge.id for edge in graph.edges), None))
        uids = {node.id: node.settings.uid for node in graph.nodes}
        return {uid: hashes[id] for id, uid in uids.items() if uid is not None}

    extra = Step(kind="source", inputs=(), parallelism=None, group=None, staged=False, expensive=False, chaining=None)
    assert pinned(plan).items() <= pinned((*plan, extra)).items()


@given(plans(), plans(), MODES)
def test_the_order_of_independent_branches_changes_nothing(
    one: tuple[Step, ...], other: tuple[Step, ...], mode: str
) -> None:
    shifted = tuple(replace(step, inputs=tuple(number + len(one) for number in step.inputs)) for step in other)
    plan = one + shifted
    orders = [range(len(plan)), [*range(len(one), len(plan)), *range(len(one))]]

    def facts(order: Sequence[int]) -> tuple[object, ...]:
        pipeline = compile_pipeline(declare(plan, order, shuffle_mode=mode).pipeline())
        node, vertex = pipeline.stream_graph.node, pipeline.job_graph.vertex
        regions = {
            region.id: frozenset(
                str(node[id].settings.uid) for vertex_id in region.vertex_ids for id in vertex[vertex_id].node_ids
            )
            for region in pipeline.deployment.regions
        }
        tasks = {frozenset(task.region_ids) for task in pipeline.deployment.tasks}
        named = [v for v in pipeline.job_graph.vertices if v.id in _pinned_ids(pipeline)]
        return regions, tasks, {vertex.id: vertex.name for vertex in named}

    assert facts(orders[0]) == facts(orders[1])


def _pinned_ids(pipeline: CompiledPipeline) -> set[str]:
    """Return the vertex ids that follow from a uid."""
    uids = [node.settings.uid for node in pipeline.stream_graph.nodes]
    return {mmh3.hash_bytes(uid.encode()).hex() for uid in uids if uid is not None}


@given(plans(), MODES)
def test_the_graph_of_regions_has_a_topological_order(plan: tuple[Step, ...], mode: str) -> None:
    pipeline = compiled(plan, mode)
    deployment = pipeline.deployment
    producers: dict[str, list[str]] = {region.id: [] for region in deployment.regions}
    for edge in region_edges(pipeline):
        producers[deployment.region_of_vertex[edge.target_id].id].append(deployment.region_of_vertex[edge.source_id].id)
    assert sorted(post_order(producers, lambda id: producers[id])) == sorted(producers)


def before(pipeline: CompiledPipeline) -> dict[RegionId, frozenset[RegionId]]:
    """Return all regions that come before each region."""
    region_of = pipeline.deployment.region_of_vertex
    found: dict[RegionId, frozenset[RegionId]] = {}
    for region in pipeline.deployment.regions:
        own = {
            region_of[edge.source_id].id for edge in region_edges(pipeline) if region_of[edge.target_id].id == region.id
        }
        found[region.id] = frozenset(own).union(*(found[id] for id in own))
    return found


def task_pairs(pipeline: CompiledPipeline) -> dict[tuple[TaskName, TaskName], list[JobEdge]]:
    """Return the edges between each two tasks."""
    task_of = pipeline.deployment.task_of_vertex
    found: dict[tuple[TaskName, TaskName], list[JobEdge]] = {}
    for edge in pipeline.task_edges():
        ends = task_of(edge.source_id).id, task_of(edge.target_id).id
        found.setdefault(ends, []).append(edge)
    return found


def apart(pipeline: CompiledPipeline) -> set[frozenset[TaskName]]:
    return {frozenset((each.task, each.other)) for each in pipeline.deployment.apart}


@given(plans(same_tasks=True), MODES, st.sampled_from(["true", "false"]))
def test_each_region_is_in_one_task_and_tasks_and_regions_are_in_a_runnable_order(
    plan: tuple[Step, ...], mode: str, sharing: str
) -> None:
    pipeline = compiled(plan, mode, task_sharing=sharing)
    deployment = pipeline.deployment
    listed = [id for task in deployment.tasks for id in task.region_ids]
    assert listed == [region.id for region in deployment.regions]
    assert len(set(listed)) == len(listed)
    assert all(task.region_ids for task in deployment.tasks)
    order = [task.id for task in deployment.tasks]
    assert len(set(order)) == len(order)
    assert all(
        deployment.region[id].slot_sharing_group == task.slot_sharing_group
        for task in deployment.tasks
        for id in task.region_ids
    )
    region_of = deployment.region_of_vertex
    for edge in region_edges(pipeline):
        source, target = region_of[edge.source_id].id, region_of[edge.target_id].id
        assert listed.index(source) < listed.index(target)
    assert all(order.index(source) < order.index(target) for source, target in task_pairs(pipeline))
    assert all(
        {each.task, each.other} <= set(order) and each.task != each.other and each.explanation
        for each in deployment.apart
    )


@given(plans(same_tasks=True, pins=True), st.sampled_from(["true", "false"]))
def test_a_task_has_at_most_one_pinned_id_which_is_its_name(plan: tuple[Step, ...], sharing: str) -> None:
    try:
        deployment = compiled(plan, task_sharing=sharing).deployment
    except InvalidPipelineError as refusal:
        problems = refusal.problems
    else:
        problems = ()
    assert all("its task_id is" in problem.message for problem in problems)
    if problems:  # two pins in one region
        return
    pins = {f"pinned_{number}" for number, step in enumerate(plan) if step.pinned}
    for task in deployment.tasks:
        ids = [str(id) for id in task.region_ids]
        assert [id for id in ids if id in pins] in ([], [task.id])
        assert str(task.id) in ids


@given(plans(pins=True))
def test_regions_of_a_task_become_ready_together_and_delay_no_other_task(plan: tuple[Step, ...]) -> None:
    try:
        pipeline = compiled(plan)
    except InvalidPipelineError:  # two pins in one region
        return
    deployment, earlier = pipeline.deployment, before(pipeline)
    for task in deployment.tasks:
        own = frozenset(task.region_ids)
        assert len({earlier[id] - own for id in own}) == 1
        awaited = {id for region_id, ids in earlier.items() if region_id not in own for id in ids & own}
        read = {deployment.region_of_vertex[edge.source_id].id for edge in pipeline.task_edges()} & own
        assert all(own - {id} <= earlier[id] for id in read)
        assert awaited in (frozenset(), own)


@given(plans())
def test_leaf_tasks_that_become_ready_together_are_one(plan: tuple[Step, ...]) -> None:
    pipeline = compiled(plan)
    earlier, read = before(pipeline), {source for source, _ in task_pairs(pipeline)}
    leaves = [
        (earlier[task.region_ids[0]], task.slot_sharing_group)
        for task in pipeline.deployment.tasks
        if task.id not in read
    ]
    assert len(set(leaves)) == len(leaves)


@given(plans(same_tasks=True))
def test_two_tasks_are_apart_only_for_a_declared_reason_or_one_that_is_told(plan: tuple[Step, ...]) -> None:
    pipeline = compiled(plan)
    told = apart(pipeline)
    for ends, edges in task_pairs(pipeline).items():
        reasons = {edge.staging.reason for edge in edges if edge.staging is not None}
        assert any(reason.parts_tasks for reason in reasons) or frozenset(ends) in told
        if StagingReason.DECLARED_IN_TASK in reasons:
            assert frozenset(ends) in told


@given(plans(same_tasks=True), st.sampled_from(["ALL_EXCHANGES_BLOCKING", "no sharing"]))
def test_without_sharing_there_is_a_task_for_each_region_unless_requested(plan: tuple[Step, ...], mode: str) -> None:
    is_auto = mode == "no sharing"
    pipeline = compiled(plan, task_sharing="false") if is_auto else compiled(plan, mode)
    deployment = pipeline.deployment
    region_of = deployment.region_of_vertex
    requested = [
        (region_of[edge.source_id].id, region_of[edge.target_id].id)
        for edge in region_edges(pipeline)
        if edge.staging and edge.staging.reason is StagingReason.DECLARED_IN_TASK and is_auto
    ]
    ids = [region.id for region in deployment.regions]
    together = connected_components(ids, requested)
    tasks = [set(task.region_ids) for task in deployment.tasks]
    assert all(any(task <= set(group) for group in together) for task in tasks)
    if not requested:
        assert [(str(task.id), task.region_ids) for task in deployment.tasks] == [(id, (id,)) for id in ids]
        assert deployment.apart == ()


@settings(max_examples=3, deadline=None)
@given(st.lists(plans(), min_size=20, max_size=20))
def test_the_hash_seed_does_not_change_results(drawn: list[tuple[Step, ...]]) -> None:
    program = (
        "import json, sys; from tests.properties.strategies import Step, declare;"
        "from graph_compiler.compiler.pipeline_compiler import compile_pipeline;"
        "from graph_compiler.deployment.describe.region_descriptors import describe_regions;"
        "from graph_compiler.deployment.documents.wire import to_wire;"
        "plans = json.load(sys.stdin);"
        "steps = [[Step(s[0], tuple(s[1]), *s[2:]) for s in plan] for plan in plans];"
        "regions = [describe_regions(compile_pipeline(declare(tuple(plan)).pipeline())) for plan in steps];"
        "print(json.dumps([[to_wire(r) for r in found] for found in regions]))"
    )
    plans_json = json.dumps(
        [
            [[s.kind, s.inputs, s.parallelism, s.group, s.staged, s.expensive, s.chaining] for s in plan]
            for plan in drawn
        ]
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT}:{ROOT / 'plugins'}"},
            input=plans_json,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(answers) == 1
