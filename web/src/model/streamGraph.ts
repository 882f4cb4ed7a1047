/** Flink's StreamGraph as a drawn graph: operators before chaining, with a hull around each chain. */

import type { StreamEdge, ViewPlan } from '../documents'
import type { GraphEdge, GraphModel } from './graph'
import { operatorLine, rolesOf } from './jobGraph'

export function streamGraph(plan: ViewPlan): GraphModel {
  const taskOf = new Map(plan.regions.map((region) => [region.id, region.task]))
  return {
    kind: 'stream',
    name: plan.pipeline,
    nodes: plan.operators.map((operator) => {
      const own = operatorLine(operator)
      return {
        id: String(operator.id),
        group: operator.vertex,
        title: operator.name,
        subtitle: operator.parallelism_configured ? `parallelism ${operator.parallelism}` : '',
        lines: [own, ...operator.details.slice(0, 2).map((detail) => ({ name: detail, kind: '', role: null }))],
        hidden: Math.max(0, operator.details.length - 2),
        roles: rolesOf([own]),
      }
    }),
    edges: plan.stream_edges.map(streamEdge),
    groups: plan.vertices.map((vertex) => ({
      id: vertex.id,
      title: vertex.operators.length > 1 ? `chain of ${vertex.operators.length}` : '',
      subtitle: `task ${taskOf.get(vertex.region) ?? vertex.region}`,
      isHull: vertex.operators.length > 1,
      parent: null,
    })),
  }
}

function streamEdge(edge: StreamEdge): GraphEdge {
  const virtual = [
    ...(edge.output_tag ? [`side output ${edge.output_tag}`] : []),
    ...(/^forward$/i.test(edge.partitioner) ? [] : [edge.partitioner]),
  ]
  const why = edge.why_not_chained ? ` — not chained: ${edge.why_not_chained}` : ''
  return {
    id: edge.id,
    source: String(edge.source),
    target: String(edge.target),
    words: virtual,
    reason: null,
    description: `${edge.partitioner}${edge.output_tag ? `, side output ${edge.output_tag}` : ''}${edge.is_chained ? ', chained' : ''}${why}`,
    kind: edge.is_chained ? 'chained' : virtual.length ? 'virtual' : 'plain',
    result: null,
  }
}
