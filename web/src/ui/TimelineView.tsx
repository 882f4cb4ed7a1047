import type { Attempt, ViewPlan, ViewRun } from '../documents'
import { statePaint, type Theme } from '../export/palette'
import type { Selection } from '../model/graph'
import { attemptMark, attemptSeconds, attemptsWords, attemptWords, isOngoing, type Marks } from '../model/runState'
import { failureNotes, shortRecomputed, timeline, type Bar } from '../model/timeline'
import { secondsWords } from '../model/words'

interface Properties {
  plan: ViewPlan
  run: ViewRun
  marks: Marks
  now: number
  theme: Theme
  selection: Selection | null
  onSelect: (selection: Selection) => void
}

/** The timeline of all attempts; a bar opens the details of its task. */
export function TimelineView({ plan, run, marks, now, theme, selection, onSelect }: Properties) {
  const { rows, ticks } = timeline(
    run,
    plan.regions.map((region) => region.id),
    now,
  )
  const idle = (id: string): string => marks.groups.get(id)?.foot ?? 'did not run'
  return (
    <section className="timeline" aria-label="Timeline" tabIndex={0}>
      <div className="timeline-row timeline-axis" aria-hidden="true">
        <span />
        <div className="bars">
          {ticks.map((tick) => (
            <span key={tick.seconds} style={{ left: `${tick.at * 100}%` }}>
              {secondsWords(tick.seconds)}
            </span>
          ))}
        </div>
      </div>
      {rows.map((row) => (
        <div key={row.region} className={`timeline-row${selection?.id === row.region ? ' is-selected' : ''}`}>
          <button type="button" className="link" title={row.region} onClick={() => onSelect({ kind: 'group', id: row.region })}>
            {row.region}
          </button>
          <div className={`bars${row.bars.length ? '' : ' is-empty'}`}>
            {row.bars.map((bar) => (
              <AttemptBar key={bar.attempt.execution_id} bar={bar} now={now} theme={theme} onSelect={onSelect} />
            ))}
            {row.waits.map((wait) => (
              <span key={wait.from} className="wait" style={{ left: `${wait.from * 100}%`, width: `${(wait.to - wait.from) * 100}%` }} title={wait.words}>
                {wait.to - wait.from > 0.06 && wait.words}
              </span>
            ))}
            {!row.bars.length && <span className="faint waiting">{idle(row.region)}</span>}
          </div>
          <Notes attempts={row.bars.map((bar) => bar.attempt)} />
        </div>
      ))}
    </section>
  )
}

/** Why attempts failed, in whole, and what was recomputed. */
function Notes({ attempts }: { attempts: Attempt[] }) {
  const failures = failureNotes(attempts)
  const recomputed = attempts.flatMap((attempt) => attempt.recomputed.map((line) => ({ line, words: `↻ ${attemptWords(attempt)}: ${shortRecomputed(line)}` })))
  if (!failures.length && !recomputed.length) return null
  return (
    <ul className="notes">
      {failures.map(({ attempts: failed, short, rest }) => (
        <li key={failed[0]?.execution_id} className="reason">
          ✕ {attemptsWords(failed)}: {short}
          {rest && <div className="rest">{rest}</div>}
        </li>
      ))}
      {recomputed.map(({ line, words }, at) => (
        <li key={`recomputed ${at}`} className="recomputed" title={line}>
          {words}
        </li>
      ))}
    </ul>
  )
}

function AttemptBar({ bar, now, theme, onSelect }: { bar: Bar; now: number; theme: Theme; onSelect: (selection: Selection) => void }) {
  const { attempt } = bar
  const paint = statePaint(attempt.state, theme)
  const words = `${attemptWords(attempt)}, ${attempt.state}, ${secondsWords(attemptSeconds(attempt, now))}${attempt.recomputed.length ? ', recomputed a result' : ''}`
  return (
    <button
      type="button"
      className={`bar${attempt.recomputed.length ? ' is-recomputed' : ''}${isOngoing(attempt) ? ' is-running' : ''}`}
      style={{ left: `${bar.from * 100}%`, width: `${Math.max(0.4, (bar.to - bar.from) * 100)}%`, backgroundColor: paint.color }}
      title={words}
      aria-label={`${bar.region}: ${words}`}
      onClick={() => onSelect({ kind: 'group', id: bar.region })}
    >
      <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
        <path d={paint.glyph} fill="none" className="state-glyph" />
      </svg>
      <span aria-hidden="true">
        {attemptMark(attempt)}
        {attempt.recomputed.length > 0 && ' ↻'}
      </span>
    </button>
  )
}
