import { paint, statePaint, type PaintName, type Theme } from '../export/palette'
import type { ExecutionState } from '../documents'
import { StateBadge } from './StateBadge'

const LINES: Record<'job' | 'stream', [PaintName, string][]> = {
  job: [
    ['plain', 'pipelined'],
    ['blocking', 'blocking'],
    ['staged', 'staged'],
  ],
  stream: [
    ['chained', 'chained'],
    ['plain', 'forward, not chained'],
    ['virtual', 'partitioner, side output'],
  ],
}
const SHOWN: ExecutionState[] = ['CREATED', 'RUNNING', 'FINISHED', 'FAILED']

export function Legend({ kind, theme, hasRun }: { kind: 'job' | 'stream'; theme: Theme; hasRun: boolean }) {
  return (
    <div className="legend">
      {LINES[kind].map(([name, words]) => {
        const { stroke, width, dash } = paint(name, theme)
        return (
          <span key={name}>
            <svg width="34" height="10" aria-hidden="true">
              <path d="M1 5h32" stroke={stroke} strokeWidth={width} strokeDasharray={dash} />
            </svg>
            {words}
          </span>
        )
      })}
      {hasRun && SHOWN.map((state) => <StateBadge key={state} paint={statePaint(state, theme)} />)}
    </div>
  )
}
