/** Flink's JobGraph as a drawn graph: vertices, with a hull around each region, and a frame around the regions of one task. */

import type { JobEdge, Operator, Region, Vertex, ViewPlan } from '../documents'
import { MOST_LINES, type GraphEdge, type GraphGroup, type GraphLine, type GraphModel, type GraphNode, type Role } from './graph'
import { counted, parallelismWords } from './words'

export function jobGraph(plan: ViewPlan): GraphModel {
  const operators = new Map(plan.operators.map((operator) => [operator.id, operator]))
  return {
    kind: 'job',
    name: plan.pipeline,
    nodes: plan.vertices.map((vertex) => vertexNode(vertex, operators, plan.edges.some((edge) => edge.source === vertex.id))),
    edges: plan.edges.map(jobEdge),
    groups: [...taskFrames(plan), ...plan.regions.map((region) => regionGroup(region, plan))],
  }
}

/** The id of the frame around the regions of a task. */
export function frameId(task: string): string {
  return `task ${task}`
}

function taskFrames(plan: ViewPlan): GraphGroup[] {
  const regions = new Map<string, number>()
  for (const region of plan.regions) regions.set(region.task, (regions.get(region.task) ?? 0) + 1)
  return [...regions]
    .filter(([, count]) => count > 1)
    .map(([task, count]) => ({ id: frameId(task), title: task, subtitle: `one task, ${counted(count, 'region')}`, isHull: true, parent: null }))
}

function regionGroup(region: Region, plan: ViewPlan): GraphGroup {
  const isShared = plan.regions.some((other) => other.task === region.task && other.id !== region.id)
  const vertices = region.vertices.length === 1 ? '1 vertex' : `${region.vertices.length} vertices`
  return {
    id: region.id,
    title: region.id,
    subtitle: `${isShared ? 'region' : 'task'} · ${vertices}`,
    isHull: true,
    parent: isShared ? frameId(region.task) : null,
  }
}

/** How many tasks run the regions of a plan. */
export function taskCount(plan: ViewPlan): number {
  return new Set(plan.regions.map((region) => region.task)).size
}

/** A name and a kind, unless the name says the kind: an operator without a name of its own is called `Join`, or `With Columns`. */
export function operatorLine({ name, kind }: Pick<Operator, 'name' | 'kind'>): GraphLine {
  const plain = (text: string): string => text.replace(/[\s_]/g, '').toLowerCase()
  const role: Role | null = kind === 'Source' ? 'source' : kind === 'Sink' ? 'sink' : null
  return { name, kind: plain(name) === plain(kind) ? '' : kind, role }
}

/** A parallelism that was not set is `parallelism.default`; Spark decides how many tasks run then. */
export function parallelismNote(vertex: Pick<Vertex, 'parallelism' | 'parallelism_configured'>): string {
  return `${parallelismWords(vertex.parallelism)}${vertex.parallelism === null || vertex.parallelism_configured ? '' : ' (default)'}`
}

function vertexNode(vertex: Vertex, operators: Map<number, Operator>, isRead: boolean): GraphNode {
  const chained = vertex.operators.map((id) => operators.get(id)).filter((operator) => operator !== undefined)
  const lines = chained.map(operatorLine)
  const isShort = lines.length <= MOST_LINES
  // The default is the same for all: the page says it once.
  const isOwn = vertex.parallelism === null || vertex.parallelism_configured
  const notes = [
    ...(isOwn ? [`parallelism ${parallelismWords(vertex.parallelism)}`] : []),
    ...(vertex.slot_sharing_group === 'default' ? [] : [vertex.slot_sharing_group]),
  ]
  return {
    id: vertex.id,
    group: vertex.region,
    title: vertex.name,
    subtitle: notes.join(' · '),
    lines: isShort ? lines : lines.slice(0, MOST_LINES - 1),
    hidden: isShort ? 0 : lines.length - MOST_LINES + 1,
    roles: rolesOf(lines).filter((role) => role === 'source' || !isRead),
  }
}

export function rolesOf(lines: readonly GraphLine[]): Role[] {
  const found: Role[] = ['source', 'sink']
  return found.filter((role) => lines.some((line) => line.role === role))
}

function jobEdge(edge: JobEdge): GraphEdge {
  const tag = edge.output_tag ? ` [${edge.output_tag}]` : ''
  const why = edge.explanation ? ` — ${edge.explanation}` : ''
  const isForward = edge.words.toLowerCase() === 'forward'
  const shipped = `${isForward ? '' : edge.words || edge.ship_strategy}${tag}`.trim()
  const kept = edge.result_type === 'BLOCKING' ? 'BLOCKING' : ''
  const words = edge.is_staged ? ['staged', shipped] : [shipped, kept]
  return {
    id: edge.id,
    source: edge.source,
    target: edge.target,
    // The line style shows that an edge is pipelined; the description has all details.
    words: words.filter((line) => line),
    reason: edge.is_staged ? reasonWords(edge.explanation) : null,
    description: `${edge.words || edge.ship_strategy}${tag}, ${edge.result_type}, ${edge.distribution}${edge.is_staged ? ', staged' : edge.explanation ? ', in memory' : ''}${why}`,
    kind: edge.is_staged ? 'staged' : edge.result_type === 'BLOCKING' ? 'blocking' : 'plain',
    result: edge.result ?? null,
  }
}

/** `because you asked: "a reader"` → `“a reader”`, and `because 'x' is expensive` → `'x' is expensive`. */
function reasonWords(explanation: string | null): string | null {
  const asked = /^because you asked: "(.*)"$/s.exec(explanation ?? '')
  return asked ? `“${asked[1]}”` : (explanation?.replace(/^because /, '') ?? null)
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
