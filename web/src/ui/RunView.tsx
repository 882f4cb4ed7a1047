import type { ViewPlan, ViewRun } from '../documents'
import { runStatePaint, type Theme } from '../export/palette'
import type { Selection } from '../model/graph'
import { taskCount } from '../model/jobGraph'
import { currentAttempt, hints, leftOutWords, type Marks } from '../model/runState'
import { bytesWords, counted, rowsWords, secondsWords, spanSeconds, timeWords } from '../model/words'
import { GraphPane } from './GraphPane'
import { StateBadge } from './StateBadge'
import { TimelineView } from './TimelineView'

interface Properties {
  plan: ViewPlan
  run: ViewRun
  marks: Marks
  now: number
  theme: Theme
  selection: Selection | null
  onSelect: (selection: Selection | null) => void
}

/** A run: its state, the job graph with states, and the timeline. */
export function RunView({ plan, run, marks, now, theme, selection, onSelect }: Properties) {
  const attempts = run.regions.map((region) => currentAttempt(run, region.id)).filter((attempt) => attempt !== null)
  const outputs = attempts.flatMap((attempt) => attempt.outputs)
  const sinks = outputs.filter((output) => output.kind === 'sink')
  const staged = outputs.filter((output) => output.kind === 'staged')
  const sum = (values: (number | null)[]): number => values.reduce<number>((total, value) => total + (value ?? 0), 0)
  const read = sum(attempts.map((attempt) => attempt.work?.input_bytes ?? null))
  const violations = attempts.flatMap((attempt) => attempt.contracts).reduce((sum, contract) => sum + contract.violations, 0)
  const hinted = attempts.flatMap((attempt) => hints(attempt.work))
  return (
    <div className="run">
      <div className="summary">
        <StateBadge paint={runStatePaint(run.state, theme)} />
        {run.started === null ? (
          <span className="faint">{run.queued === null ? 'not started' : `queued since ${timeWords(run.queued)}`}</span>
        ) : (
          <>
            <span>{secondsWords(spanSeconds(run.started, run.ended ?? now))}</span>
            <span className="faint">since {timeWords(run.started)}</span>
          </>
        )}
        <span className="faint">
          {run.run_type}
          {run.logical_date !== null && ` of ${run.logical_date.slice(0, 16).replace('T', ' ')}`}
        </span>
        <span>
          {run.regions.filter((region) => region.state === 'FINISHED').length} of {counted(run.regions.length, taskCount(plan) < plan.regions.length ? 'region' : 'task')} finished
        </span>
        {read > 0 && <span>{bytesWords(read)} in</span>}
        {staged.length > 0 && <span>{bytesWords(sum(staged.map((output) => output.bytes)))} staged</span>}
        {sinks.length > 0 && (
          <span>
            {rowsWords(sum(sinks.map((output) => output.rows)))} rows, {bytesWords(sum(sinks.map((output) => output.bytes)))} out
          </span>
        )}
        {violations > 0 && <span className="reason">{counted(violations, 'contract violation')}</span>}
        {hinted.map((hint, at) => (
          <span key={at} className="recomputed">
            {hint}
          </span>
        ))}
        {!run.reasons_are_shown && <span className="faint">Why attempts failed is in the tasks' logs, which you do not have permission to read.</span>}
        {!run.has_documents && <span className="faint">This server cannot see the staging root: states come from Airflow, and there are no metrics.</span>}
        {leftOutWords(run) && <span className="faint">{leftOutWords(run)}</span>}
      </div>
      <GraphPane plan={plan} run={run} kind="job" marks={marks} theme={theme} selection={selection} onSelect={onSelect} />
      <TimelineView plan={plan} run={run} marks={marks} now={now} theme={theme} selection={selection} onSelect={onSelect} />
    </div>
  )
}
