/** A run as bars over time: one row for each region, one bar for each attempt. */

import type { Attempt, ViewRun } from '../documents'
import { isOngoing } from './runState'

export interface Bar {
  region: string
  attempt: Attempt
  /** From 0 to 1. */
  from: number
  to: number
}

export interface Timeline {
  start: number
  end: number
  rows: { region: string; bars: Bar[] }[]
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
  }))
  const step = STEPS.find((seconds) => span / seconds <= 8) ?? span / 8
  const ticks = Array.from({ length: Math.floor(span / step) + 1 }, (_, i) => ({ at: (i * step) / span, seconds: i * step })).filter((tick) => tick.at < 0.94)
  return { start: from, end, rows, ticks }
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
