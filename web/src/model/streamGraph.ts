/** Flink's StreamGraph as a drawn graph: operators before chaining, with a hull around each chain. */

import type { StreamEdge, ViewPlan } from '../documents'
import type { GraphEdge, GraphModel } from './graph'

export function streamGraph(plan: ViewPlan): GraphModel {
  const taskOf = new Map(plan.regions.map((region) => [region.id, region.task]))
  return {
    kind: 'stream',
    name: plan.pipeline,
    nodes: plan.operators.map((operator) => ({
      id: String(operator.id),
      group: operator.vertex,
      title: operator.name,
      subtitle: `${operator.kind} · parallelism ${operator.parallelism}`,
      lines: operator.details.slice(0, 2),
      hidden: Math.max(0, operator.details.length - 2),
    })),
    edges: plan.stream_edges.map(streamEdge),
    groups: plan.vertices.map((vertex) => ({
      id: vertex.id,
      title: vertex.operators.length > 1 ? `chain of ${vertex.operators.length}` : '',
      subtitle: `task ${taskOf.get(vertex.region) ?? vertex.region}`,
      isHull: vertex.operators.length > 1,
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
    description: `${edge.partitioner}${edge.output_tag ? `, side output ${edge.output_tag}` : ''}${edge.is_chained ? ', chained' : ''}${why}`,
    kind: edge.is_chained ? 'chained' : virtual.length ? 'virtual' : 'plain',
    result: null,
  }
}
