/** Flink's JobGraph as a drawn graph: vertices, with a hull around each region, which an Airflow task runs. */

import type { JobEdge, Operator, Region, Vertex, ViewPlan } from '../documents'
import { MOST_LINES, type GraphEdge, type GraphModel, type GraphNode } from './graph'
import { counted, parallelismWords } from './words'

export function jobGraph(plan: ViewPlan): GraphModel {
  const operators = new Map(plan.operators.map((operator) => [operator.id, operator]))
  return {
    kind: 'job',
    name: plan.pipeline,
    nodes: plan.vertices.map((vertex) => vertexNode(vertex, operators)),
    edges: plan.edges.map(jobEdge),
    groups: plan.regions.map((region) => ({
      id: region.id,
      title: region.id,
      subtitle: `${taskWords(region)} · ${region.vertices.length === 1 ? '1 vertex' : `${region.vertices.length} vertices`}`,
      isHull: true,
    })),
  }
}

/** The task of a region: itself, unless it shares one. */
export function taskWords(region: Region): string {
  return region.task === region.id ? 'task' : `region of task ${region.task}`
}

/** How many tasks run the regions of a plan. */
export function taskCount(plan: ViewPlan): number {
  return new Set(plan.regions.map((region) => region.task)).size
}

function vertexNode(vertex: Vertex, operators: Map<number, Operator>): GraphNode {
  const chained = vertex.operators.map((id) => operators.get(id)).filter((operator) => operator !== undefined)
  const lines = chained.map((operator) => `${operator.kind}  ${operator.name}`)
  const isShort = lines.length <= MOST_LINES
  const group = vertex.slot_sharing_group === 'default' ? '' : ` · ${vertex.slot_sharing_group}`
  return {
    id: vertex.id,
    group: vertex.region,
    title: vertex.name,
    subtitle: `parallelism ${parallelismWords(vertex.parallelism)}${group}`,
    lines: isShort ? lines : lines.slice(0, MOST_LINES - 1),
    hidden: isShort ? 0 : lines.length - MOST_LINES + 1,
  }
}

function jobEdge(edge: JobEdge): GraphEdge {
  const tag = edge.output_tag ? ` [${edge.output_tag}]` : ''
  const why = edge.explanation ? ` — ${edge.explanation}` : ''
  return {
    id: edge.id,
    source: edge.source,
    target: edge.target,
    // The line style shows that an edge is pipelined; the description has all details.
    words: [`${edge.words || edge.ship_strategy}${tag}`, ...(edge.is_staged ? ['BLOCKING · staged'] : edge.result_type === 'BLOCKING' ? ['BLOCKING'] : [])],
    description: `${edge.words || edge.ship_strategy}${tag}, ${edge.result_type}, ${edge.distribution}${edge.is_staged ? ', staged' : edge.explanation ? ', in memory' : ''}${why}`,
    kind: edge.is_staged ? 'staged' : edge.result_type === 'BLOCKING' ? 'blocking' : 'plain',
    result: edge.result ?? null,
  }
}

/** What a region repeats if it fails, as text. */
export function failureWords(plan: ViewPlan, region: string): string[] {
  const cost = plan.regions.find((found) => found.id === region)?.failure_cost
  if (!cost) return []
  const lines = [`A failure repeats ${counted(cost.repeated.length, 'operator')}: ${named(cost.repeated)}`]
  if (cost.expensive.length) lines.push(`Expensive among these: ${named(cost.expensive)}`)
  if (cost.reread.length) lines.push(`It reads staged results again: ${named(cost.reread)}`)
  if (cost.spared) lines.push(`Staging saves ${counted(cost.spared, 'operator')}`)
  return lines
}

const MOST_NAMED = 12

function named(names: string[]): string {
  const left = names.length - MOST_NAMED
  return left > 1 ? `${names.slice(0, MOST_NAMED).join(', ')} and ${left} more` : names.join(', ')
}
