/** What the runs of a Dag say about it, for the list: success, usual duration, and what waits. */

import type { DagOutcomes, LastRun, PipelineSummary } from '../documents'
import { secondsWords, spanSeconds, timeWords } from './words'

/** How many of the last runs succeeded, as text; null before any has ended. */
export function successWords({ ended }: DagOutcomes): string | null {
  if (!ended.length) return null
  return `${ended.filter((run) => run.state === 'success').length} of ${ended.length}`
}

/** The median duration of those that succeeded, as text. A failed run is over sooner, or later. */
export function usualDuration({ ended }: DagOutcomes): string | null {
  const found = ended
    .filter((run) => run.state === 'success' && run.started !== null && run.ended !== null)
    .map((run) => spanSeconds(run.started ?? 0, run.ended ?? 0))
    .sort((a, b) => a - b)
  const middle = found[Math.floor((found.length - 1) / 2)]
  return middle === undefined ? null : secondsWords(middle)
}

/** Since when a run runs or waits, and how long it took. */
export function momentWords(run: LastRun): string {
  if (run.started === null) return run.queued === null ? '' : `since ${timeWords(run.queued)}`
  const span = run.ended === null ? '' : ` · ${secondsWords(spanSeconds(run.started, run.ended))}`
  return `${timeWords(run.started)}${span}`
}

/** What else runs or waits beside the run that is shown. */
export function othersWords({ last_run: shown, running, queued }: DagOutcomes): string[] {
  const [more, waiting] = [running - (shown?.state === 'running' ? 1 : 0), queued - (shown?.state === 'queued' ? 1 : 0)]
  return [...(more > 0 ? [`${more} more running`] : []), ...(waiting > 0 ? [`${waiting}${shown?.state === 'queued' ? ' more' : ''} queued`] : [])]
}

export function scheduleWords({ schedule, is_paused: isPaused }: Pick<PipelineSummary, 'schedule' | 'is_paused'>): string {
  const words = schedule === null || schedule === 'None' || schedule === '' ? 'no schedule' : schedule
  return isPaused ? `${words}, paused` : words
}
