import { paint, ROLE_GLYPHS, statePaint, type PaintName, type Theme } from '../export/palette'
import type { ExecutionState } from '../documents'
import type { GraphModel } from '../model/graph'
import { StateBadge } from './StateBadge'

const LINES: Record<GraphModel['kind'], [PaintName, string][]> = {
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

/** What is in the picture: its lines, sources and sinks, and the states of a run. */
export function Legend({ model, theme, states }: { model: GraphModel; theme: Theme; states: ExecutionState[] }) {
  const kinds = new Set<PaintName>(model.edges.map((edge) => edge.kind))
  const roles = (['source', 'sink'] as const).filter((role) => model.nodes.some((node) => node.roles.includes(role)))
  return (
    <div className="legend" role="group" aria-label="Legend">
      {LINES[model.kind]
        .filter(([name]) => kinds.has(name))
        .map(([name, words]) => {
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
      {roles.map((role) => (
        <span key={role}>
          <svg width="14" height="14" viewBox="-1 -1 14 14" aria-hidden="true">
            <path d={ROLE_GLYPHS[role]} fill="none" stroke={paint('end', theme).stroke} strokeWidth="1.8" />
          </svg>
          {role}
        </span>
      ))}
      {states.map((state) => (
        <StateBadge key={state} paint={statePaint(state, theme)} />
      ))}
    </div>
  )
}
