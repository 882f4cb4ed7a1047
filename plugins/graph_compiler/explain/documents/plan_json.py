"""A plan as JSON for programs: the tasks, and every staged edge."""

from __future__ import annotations

from graph_compiler.deployment.documents.wire import Json, to_wire
from graph_compiler.explain.plan.plan import Plan


def deployment_json(plan: Plan) -> dict[str, Json]:
    """Return the tasks in an order in which they can run, and every staged edge; names are those of `explain`."""
    return {
        "pipeline": plan.pipeline,
        "operators": len(plan.operators),
        "options": [
            {"key": option.key, "value": option.value, "default": option.default, "origin": option.set_by}
            for option in plan.options
        ],
        "tasks": [
            {
                "task": task.id,
                "slot_sharing_group": task.slot_sharing_group.name,
                "regions": [
                    {
                        "region": region.id,
                        "vertices": [plan.vertex[id].name for id in region.vertices],
                        "failure_cost": to_wire(region.failure_cost),
                    }
                    for region in (plan.region[id] for id in task.region_ids)
                ],
            }
            for task in plan.tasks
        ],
        "apart": [to_wire(each) for each in plan.apart],
        "staged": [
            {
                "result": plan.operator[edge.from_operator].name,
                "output_tag": edge.output_tag,
                "reader": plan.operator[edge.to_operator].name,
                "from_task": plan.region_of(edge.source).task,
                "to_task": plan.region_of(edge.target).task,
                "reason": to_wire(edge.reason),
                "explanation": edge.explanation,
            }
            for edge in plan.edges
            if edge.is_staged
        ],
    }
