/** The state of a run's regions and vertices. */

import type { Attempt, ExecutionState, PlanDiff, RegionRun, Vertex, VertexRun, ViewPlan, ViewRun, Work } from '../documents'
import { frameId } from './jobGraph'
import { bytesWords, counted, figure, rowsWords, secondsWords, spanSeconds } from './words'

export type ChangeMark = 'added' | 'removed' | 'changed' | 'affected'

export interface Mark {
  state: ExecutionState | null
  /** Whether it has not run: it is drawn as a plan is. */
  isIdle: boolean
  /** From 1. */
  attempt: number | null
  foot: string
  change: ChangeMark | null
}

export interface Marks {
  nodes: Map<string, Mark>
  groups: Map<string, Mark>
  /** What is known of staged edges: rows and bytes. */
  edges: Map<string, string>
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

/** The number of an attempt for a small mark; a try that left no execution is not counted as one. */
export function attemptMark({ number, try_number: tried }: Pick<Attempt, 'number' | 'try_number'>): string {
  return number === null ? `try ${tried}` : `${number + 1}`
}

/** An attempt and, where it has another number, Airflow's try: a try that repeats nothing is no attempt. */
export function attemptWords({ number, try_number: tried }: Pick<Attempt, 'number' | 'try_number'>): string {
  if (number === null) return `try ${tried} in Airflow`
  return `attempt ${number + 1}${tried === number + 1 ? '' : ` (try ${tried} in Airflow)`}`
}

/** Several attempts, by their numbers alone; one as in `attemptWords`. */
export function attemptsWords(attempts: readonly Attempt[]): string {
  const [first] = attempts
  return first && attempts.length === 1 && first.number === null ? attemptWords(first) : `${attempts.length > 1 ? 'attempts' : 'attempt'} ${attempts.map(attemptMark).join(', ')}`
}

/** Return the marks for the state of each vertex and each task in the job graph. */
export function runMarks(plan: ViewPlan, run: ViewRun, now: number): Marks {
  const regions = new Map(run.regions.map((region) => [region.id, region]))
  const nodes = new Map<string, Mark>()
  for (const vertex of plan.vertices) {
    const region = regions.get(vertex.region)
    nodes.set(vertex.id, vertexMark(plan, vertex, region, hasEnded(run)))
  }
  const groups = new Map<string, Mark>()
  for (const region of run.regions) {
    const attempt = currentOf(region)
    const seconds = attempt ? attemptSeconds(attempt, now) : null
    const isIdle = neverRan(region)
    const words = [
      isIdle ? idleWords(region.state, hasEnded(run)) : region.state,
      ...(attempt?.number ? [`attempt ${attempt.number + 1}`] : []),
      ...(seconds === null ? [] : [secondsWords(seconds)]),
      ...hints(attempt?.work ?? null),
    ]
    groups.set(region.id, { state: region.state, isIdle, attempt: typeof attempt?.number === 'number' ? attempt.number + 1 : null, foot: words.join(' · '), change: null })
  }
  for (const [task, ids] of sharedTasks(plan)) {
    const states = ids.map((id) => regions.get(id)?.state ?? 'CREATED')
    const state = STRONGEST.find((found) => states.includes(found)) ?? 'CREATED'
    const isIdle = ids.every((id) => neverRan(regions.get(id)))
    groups.set(frameId(task), { state, isIdle, attempt: null, foot: `one task, ${counted(ids.length, 'region')} · ${isIdle ? idleWords(state, hasEnded(run)) : state}`, change: null })
  }
  return { nodes, groups, edges: stagedRows(plan, run) }
}

/** The state of a task with several regions: the first of these that one of them has. */
const STRONGEST: ExecutionState[] = ['FAILED', 'CANCELING', 'RUNNING', 'INITIALIZING', 'DEPLOYING', 'SCHEDULED', 'CREATED', 'CANCELED', 'FINISHED']

function sharedTasks(plan: ViewPlan): [string, string[]][] {
  const tasks = new Map<string, string[]>()
  for (const region of plan.regions) tasks.set(region.task, [...(tasks.get(region.task) ?? []), region.id])
  return [...tasks].filter(([, ids]) => ids.length > 1)
}

function hasEnded(run: ViewRun): boolean {
  return run.ended !== null && run.state !== 'running' && run.state !== 'queued'
}

/** Whether a region has no attempt, and is not about to have one: it waits, or the run ended before its turn. */
function neverRan(region: RegionRun | undefined): boolean {
  return !region || (!region.attempts.length && (region.state === 'CREATED' || region.state === 'CANCELED'))
}

function idleWords(state: ExecutionState, isOver: boolean): string {
  return state === 'CANCELED' ? 'CANCELED · did not run' : isOver ? 'did not run' : 'waiting'
}

/**
 * In a failed region, one vertex has failed: that of the operator in the report, or of the last known step. The others were
 * canceled, as in Flink: a region fails as a whole, and none of their rows count.
 */
function vertexMark(plan: ViewPlan, vertex: Vertex, region: RegionRun | undefined, isOver: boolean): Mark {
  const attempt = region ? currentOf(region) : null
  const figures = vertexRun(attempt, vertex.id)
  const isIdle = neverRan(region)
  const ofRegion = region?.state ?? 'CREATED'
  const failed = attempt?.failed_operator ?? attempt?.current?.operator ?? null
  const isFailed = failed !== null && hasOperator(plan, vertex, failed)
  const state = ofRegion === 'FAILED' && !isFailed ? 'CANCELED' : ofRegion
  const { current } = attempt ?? { current: null }
  const isCurrent = current !== null && state === 'RUNNING' && hasOperator(plan, vertex, current.operator)
  const words = [
    ...(isCurrent ? [`${current.phase} ${current.operator}`] : []),
    ...(state === 'FAILED' ? ['FAILED', `in ${failed ?? ''}`] : state === 'CANCELED' && !isIdle ? ['CANCELED'] : []),
    ...(figures && figures.rows !== null ? [`${rowsWords(figures.rows)} rows`] : []),
    ...(figures && figures.seconds !== null ? [secondsWords(figures.seconds)] : []),
  ]
  const foot = isIdle ? idleWords('CREATED', isOver || state === 'CANCELED') : words.join(' · ') || state
  return { state, isIdle, attempt: typeof attempt?.number === 'number' ? attempt.number + 1 : null, foot, change: null }
}

/** The rows of each staged edge whose result is committed. */
function stagedRows(plan: ViewPlan, run: ViewRun): Map<string, string> {
  const staged = new Map<string, string>()
  for (const output of run.regions.flatMap((region) => currentOf(region)?.outputs ?? [])) {
    if (output.result) staged.set(output.result, `${rowsWords(output.rows)} rows · ${bytesWords(output.bytes)}`)
  }
  const edges = new Map<string, string>()
  for (const edge of plan.edges) {
    const words = edge.result ? staged.get(edge.result) : undefined
    if (words) edges.set(edge.id, words)
  }
  return edges
}

/** The states of a run's vertices and tasks, in the order of their life, for the legend; not that of tasks that wait. */
export function statesShown(marks: Marks): ExecutionState[] {
  const shown = new Set([...marks.nodes.values(), ...marks.groups.values()].filter((mark) => !mark.isIdle || mark.state === 'CANCELED').map((mark) => mark.state))
  return LIFE.filter((state) => shown.has(state))
}

const LIFE: ExecutionState[] = ['CREATED', 'SCHEDULED', 'DEPLOYING', 'INITIALIZING', 'RUNNING', 'FINISHED', 'CANCELING', 'CANCELED', 'FAILED', 'RECONCILING']

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
    nodes.set(operator.vertex, { state: null, isIdle: false, attempt: null, foot: strongest, change: strongest })
  }
  const groups = new Map<string, Mark>()
  for (const change of diff.tasks) {
    const kind = CHANGES[change.kind]
    if (kind) groups.set(change.task, { state: null, isIdle: false, attempt: null, foot: kind, change: kind })
  }
  return { nodes, groups, edges: new Map() }
}

function allOf(plan: ViewPlan, vertex: string, kinds: Map<string, ChangeMark>, kind: ChangeMark): boolean {
  return plan.operators.filter((operator) => operator.vertex === vertex).every((operator) => kinds.get(operator.operator_id ?? '') === kind)
}
