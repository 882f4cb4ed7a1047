import type { ViewRun } from '../documents'
import { statePaint, type Theme } from '../export/palette'
import type { Selection } from '../model/graph'
import { attemptSeconds } from '../model/runState'
import { timeline, type Bar } from '../model/timeline'
import { secondsWords } from '../model/words'

interface Properties {
  run: ViewRun
  now: number
  theme: Theme
  selection: Selection | null
  onSelect: (selection: Selection) => void
}

/** What ran when, attempt by attempt; a bar leads to the details of its task. */
export function TimelineView({ run, now, theme, selection, onSelect }: Properties) {
  const { rows, ticks } = timeline(run, now)
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
          <div className="bars">
            {row.bars.map((bar) => (
              <AttemptBar key={bar.attempt.execution_id} bar={bar} now={now} theme={theme} onSelect={onSelect} />
            ))}
            {!row.bars.length && <span className="faint waiting">not begun</span>}
          </div>
          <ul className="notes">
            {row.bars.flatMap(({ attempt }) => [
              ...(attempt.reason ? [`✕ attempt ${attempt.number}: ${attempt.reason}`] : []),
              ...attempt.recomputed.map((line) => `↻ attempt ${attempt.number}: ${line}`),
            ]).map((line, at) => (
              <li key={at}>{line}</li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  )
}

function AttemptBar({ bar, now, theme, onSelect }: { bar: Bar; now: number; theme: Theme; onSelect: (selection: Selection) => void }) {
  const { attempt } = bar
  const paint = statePaint(attempt.state, theme)
  const words = `attempt ${attempt.number}, ${attempt.state}, ${secondsWords(attemptSeconds(attempt, now))}${attempt.recomputed.length ? ', computed something again' : ''}`
  return (
    <button
      type="button"
      className={`bar${attempt.recomputed.length ? ' is-recomputed' : ''}${attempt.ended === null ? ' is-running' : ''}`}
      style={{ left: `${bar.from * 100}%`, width: `${Math.max(0.4, (bar.to - bar.from) * 100)}%`, backgroundColor: paint.colour }}
      title={words}
      aria-label={`${bar.region}: ${words}`}
      onClick={() => onSelect({ kind: 'group', id: bar.region })}
    >
      <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
        <path d={paint.glyph} fill="none" className="state-glyph" />
      </svg>
      <span aria-hidden="true">
        {attempt.number}
        {attempt.recomputed.length > 0 && ' ↻'}
      </span>
    </button>
  )
}
