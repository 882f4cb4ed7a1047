/** A run as bars over time: one row for each region, one bar for each attempt. */

import type { Attempt, RegionRun, ViewRun } from '../documents'
import { isOngoing } from './runState'
import { secondsWords } from './words'

export interface Bar {
  region: string
  attempt: Attempt
  /** From 0 to 1. */
  from: number
  to: number
}

/** A time in which nothing ran yet, from 0 to 1; `words` say what it was spent on. */
export interface Wait {
  from: number
  to: number
  words: string
}

export interface Timeline {
  start: number
  end: number
  rows: { region: string; bars: Bar[]; waits: Wait[] }[]
  ticks: { at: number; seconds: number }[]
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400]

/** Return the rows, in the order of `regions`, which is that of the plan. */
export function timeline(run: ViewRun, regions: readonly string[], now: number): Timeline {
  const attempts = run.regions.flatMap((region) => region.attempts)
  const starts = attempts.map((attempt) => attempt.started).filter((time) => time !== null)
  const last = run.ended ?? now
  const endOf = (attempt: Attempt): number | null => attempt.ended ?? (isOngoing(attempt) ? last : attempt.started)
  const ends = attempts.filter((attempt) => attempt.started !== null).map(endOf).filter((time) => time !== null)
  const start = Math.min(run.started ?? Infinity, ...starts)
  const from = Number.isFinite(start) ? start : now
  const end = Math.max(from + 1, run.ended ?? (starts.length ? now : from), ...ends)
  const span = end - from
  const place = (region: string): number => (regions.indexOf(region) + regions.length + 1) % (regions.length + 1)
  const rows = run.regions.toSorted((a, b) => place(a.id) - place(b.id)).map((region) => ({
    region: region.id,
    bars: region.attempts.flatMap((attempt): Bar[] => {
      if (attempt.started === null) return []
      const [left, right] = [attempt.started, endOf(attempt) ?? attempt.started]
      return [{ region: region.id, attempt, from: (left - from) / span, to: Math.max(left - from, right - from) / span }]
    }),
    waits: waits(region, run.started, starts, from, span),
  }))
  const step = STEPS.find((seconds) => span / seconds <= 8) ?? span / 8
  const ticks = Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => ({ at: (i * step) / span, seconds: i * step })).filter((tick) => tick.at < 0.94)
  return { start: from, end, rows, ticks }
}

/** Shorter waits are not worth a label. */
const LEAST_WAIT = 2

/**
 * Before an attempt, Airflow queues its task until a worker has room. Before the first attempt of all, it also schedules the
 * run. Between the attempts of other tasks, a task waits for those, which their own rows show.
 */
function waits(region: RegionRun, begun: number | null, starts: readonly number[], from: number, span: number): Wait[] {
  const first = Math.min(...starts)
  return region.attempts.flatMap(({ queued: told, started }, at) => {
    if (started === null) return []
    // A retry waits from the end of the attempt before it, even if Airflow keeps the time of the first queue.
    const queued = told === null ? null : Math.max(told, region.attempts[at - 1]?.ended ?? told)
    const isFirst = started === first && begun !== null
    const parts: [number, number, string][] = []
    if (queued !== null && queued < started) parts.push([queued, started, 'queued'])
    if (isFirst && begun < (queued ?? started)) parts.unshift([begun, queued ?? started, queued === null ? 'scheduled and queued' : 'scheduled'])
    return parts
      .filter(([left, right]) => right - left >= LEAST_WAIT)
      .map(([left, right, words]) => ({ from: Math.max(0, left - from) / span, to: (right - from) / span, words: `${words} ${secondsWords(right - left)}` }))
  })
}

/** One reason of attempts, whole, with those that failed of it. */
export interface FailureNote {
  attempts: Attempt[]
  /** In one line. */
  short: string
  /** What the one line leaves out. */
  rest: string
}

/** Why attempts failed; the same reason once. */
export function failureNotes(attempts: readonly Attempt[]): FailureNote[] {
  const notes = new Map<string, FailureNote>()
  for (const attempt of attempts) {
    if (!attempt.reason) continue
    const known = notes.get(attempt.reason)
    if (known) known.attempts.push(attempt)
    else notes.set(attempt.reason, { attempts: [attempt], short: shortReason(attempt), rest: restOf(attempt.reason, shortReason(attempt)) })
  }
  return [...notes.values()]
}

function restOf(reason: string, short: string): string {
  const [first = '', ...more] = reason.split('\n')
  return more.filter((line) => line.trim() && !(first.endsWith(':') && short.endsWith(line.trim()))).join('\n')
}

/** The reason of a failure in one line, without the pipeline, which the page shows, and without the line of its declaration. */
export function shortReason({ reason, failed_operator }: Pick<Attempt, 'reason' | 'failed_operator'>): string {
  const [first = '', ...more] = (reason ?? '').split('\n')
  const line = first.replace(/^pipeline '[^']*', (operator|task) '/, "$1 '")
  const cause = more.map((text) => text.trim()).find((text) => text && !text.startsWith('declared at'))
  const words = cause && line.endsWith(':') ? `${line} ${cause}` : line
  return failed_operator && !words.includes(failed_operator) ? `${failed_operator}: ${words}` : words
}

/** Why a result was recomputed, without its id, which is in the details. */
export function shortRecomputed(line: string): string {
  return line.replace(/^computed [0-9a-f]{32}-\d+ of /, 'computed the result of ')
}
