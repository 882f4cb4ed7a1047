/** The state of a run's regions and vertices. */

import type { Attempt, ExecutionState, PlanDiff, RegionRun, Vertex, VertexRun, ViewPlan, ViewRun, Work } from '../documents'
import { bytesWords, counted, figure, rowsWords, secondsWords, spanSeconds } from './words'

export type ChangeMark = 'added' | 'removed' | 'changed' | 'affected'

export interface Mark {
  state: ExecutionState | null
  /** From 1. */
  attempt: number | null
  foot: string
  change: ChangeMark | null
}

export interface Marks {
  nodes: Map<string, Mark>
  groups: Map<string, Mark>
}

/** Return a note if there are more tasks than a request reads, or null if all were read. */
export function leftOutWords(run: ViewRun): string | null {
  if (run.tasks_read >= run.tasks) return null
  return `Attempts of ${figure(run.tasks_read)} of ${counted(run.tasks, 'task')} are read here; the others show only Airflow's states.`
}

/** Return the attempt to which a task's state belongs; null while it waits for the next one, such as after it was cleared. */
export function currentAttempt(run: ViewRun, id: string): Attempt | null {
  const region = run.regions.find((found) => found.id === id)
  return region ? currentOf(region) : null
}

function currentOf(region: RegionRun): Attempt | null {
  const isWaiting = region.state === 'CREATED' || region.state === 'SCHEDULED'
  return isWaiting ? null : (region.attempts.at(-1) ?? null)
}

/** Return the figures of one attempt for a vertex. Those of an earlier attempt are never shown instead. */
export function vertexRun(attempt: Attempt | null, vertex: string): VertexRun | null {
  return attempt?.vertices.find((found) => found.id === vertex) ?? null
}

const OVER: ExecutionState[] = ['FINISHED', 'CANCELED', 'FAILED']

/** Whether an attempt is running. The end time alone does not show this: an attempt that has ended may have none. */
export function isOngoing(attempt: Attempt): boolean {
  return attempt.ended === null && !OVER.includes(attempt.state)
}

/** The duration of an attempt until its end, or until now; null if it is unknown. */
export function attemptSeconds(attempt: Attempt, now: number): number | null {
  const end = isOngoing(attempt) ? now : attempt.ended
  return attempt.started === null || end === null ? null : spanSeconds(attempt.started, end)
}

/** Return the marks for the state of each vertex and each task in the job graph. */
export function runMarks(plan: ViewPlan, run: ViewRun, now: number): Marks {
  const regions = new Map(run.regions.map((region) => [region.id, region]))
  const nodes = new Map<string, Mark>()
  for (const vertex of plan.vertices) {
    const region = regions.get(vertex.region)
    const attempt = region ? currentOf(region) : null
    const figures = vertexRun(attempt, vertex.id)
    const state = region?.state ?? 'CREATED'
    const { current } = attempt ?? { current: null }
    const step = current && state === 'RUNNING' && hasOperator(plan, vertex, current.operator) ? [`${current.phase} ${current.operator}`] : []
    const words = [
      ...step,
      ...(figures && figures.rows !== null ? [`${rowsWords(figures.rows)} rows`] : []),
      ...(figures && figures.seconds !== null ? [secondsWords(figures.seconds)] : []),
    ]
    nodes.set(vertex.id, { state, attempt: attempt?.try_number ?? null, foot: words.join(' · ') || state, change: null })
  }
  const groups = new Map<string, Mark>()
  for (const region of run.regions) {
    const attempt = currentOf(region)
    const seconds = attempt ? attemptSeconds(attempt, now) : null
    const words = [
      region.state,
      ...(attempt && attempt.try_number > 1 ? [`attempt ${attempt.try_number}`] : []),
      ...(seconds === null ? [] : [secondsWords(seconds)]),
      ...hints(attempt?.work ?? null),
    ]
    groups.set(region.id, { state: region.state, attempt: attempt?.try_number ?? null, foot: words.join(' · '), change: null })
  }
  return { nodes, groups }
}

function hasOperator(plan: ViewPlan, vertex: Vertex, name: string): boolean {
  return vertex.operators.some((id) => plan.operators.find((operator) => operator.id === id)?.name === name)
}

/** Return warnings about Spark's work: spilled memory, and skew. */
export function hints(work: Work | null): string[] {
  if (!work) return []
  const { spilled_bytes: spilled, slowest_task: slowest } = work
  return [
    ...(spilled ? [`${bytesWords(spilled)} spilled`] : []),
    ...(slowest?.is_skewed ? [`skew in ${slowest.operator}: slowest task ${secondsWords(slowest.longest_seconds)}, median ${secondsWords(slowest.median_seconds)}`] : []),
  ]
}

const CHANGES: Partial<Record<string, ChangeMark>> = {
  ADDED: 'added',
  REMOVED: 'removed',
  CHANGED: 'changed',
  RENAMED: 'changed',
  MOVED: 'changed',
  AFFECTED: 'affected',
}
const STRENGTH: ChangeMark[] = ['affected', 'changed', 'added', 'removed']

/** Return the marks for the differences of each vertex in one of two compared plans. */
export function changeMarks(plan: ViewPlan, diff: PlanDiff, side: 'old' | 'new'): Marks {
  const kinds = new Map<string, ChangeMark>()
  for (const change of diff.operators) {
    const id = side === 'new' ? change.id : change.id_before
    const kind = CHANGES[change.kind]
    if (id && kind) kinds.set(id, kind)
  }
  const nodes = new Map<string, Mark>()
  for (const operator of plan.operators) {
    const kind = kinds.get(operator.operator_id ?? '')
    if (!kind) continue
    const before = nodes.get(operator.vertex)?.change
    const chained = plan.vertices.find((vertex) => vertex.id === operator.vertex)?.operators.length ?? 1
    const own = (kind === 'added' || kind === 'removed') && chained > 1 && !allOf(plan, operator.vertex, kinds, kind) ? 'changed' : kind
    const strongest = before && STRENGTH.indexOf(before) > STRENGTH.indexOf(own) ? before : own
    nodes.set(operator.vertex, { state: null, attempt: null, foot: strongest, change: strongest })
  }
  const groups = new Map<string, Mark>()
  for (const change of diff.tasks) {
    const kind = CHANGES[change.kind]
    if (kind) groups.set(change.task, { state: null, attempt: null, foot: kind, change: kind })
  }
  return { nodes, groups }
}

function allOf(plan: ViewPlan, vertex: string, kinds: Map<string, ChangeMark>, kind: ChangeMark): boolean {
  return plan.operators.filter((operator) => operator.vertex === vertex).every((operator) => kinds.get(operator.operator_id ?? '') === kind)
}
