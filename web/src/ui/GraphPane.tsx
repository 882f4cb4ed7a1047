import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { ViewPlan, ViewRun } from '../documents'
import type { Theme } from '../export/palette'
import { collapse, FOLDED_FROM } from '../model/collapse'
import { placeReadably, type Selection } from '../model/graph'
import { jobGraph } from '../model/jobGraph'
import { statesShown, type Marks } from '../model/runState'
import { streamGraph } from '../model/streamGraph'
import type { Direction, Size } from '../layout/compound'
import { Details } from './Details'
import { ExportMenu } from './ExportMenu'
import { GraphControls } from './GraphControls'
import { GraphView } from './GraphView'
import { Legend } from './Legend'
import { SearchBox } from './SearchBox'

interface Properties {
  plan: ViewPlan
  run: ViewRun | null
  kind: 'job' | 'stream'
  marks: Marks | null
  theme: Theme
  selection: Selection | null
  onSelect: (selection: Selection | null) => void
}

/** One of the graphs, with search, export, and the details of the selected element. */
export function GraphPane({ plan, run, kind, marks, theme, selection, onSelect }: Properties) {
  const [wanted, setWanted] = useState<Direction | null>(null)
  const [isFolded, setFolded] = useState(kind === 'job' && plan.vertices.length > FOLDED_FROM)
  const hasFoot = marks !== null
  const place = useRef<HTMLDivElement>(null)
  const room = useRoom(place)
  const graph = useMemo(() => {
    if (!room) return null
    performance.mark('layout-start')
    const whole = kind === 'job' ? jobGraph(plan) : streamGraph(plan)
    const placed = placeReadably(isFolded ? collapse(whole) : whole, hasFoot, room, wanted)
    performance.measure('layout', 'layout-start')
    return placed
  }, [plan, kind, wanted, hasFoot, isFolded, room])
  const shownMarks = useMemo(() => (marks && isFolded ? { ...marks, nodes: marks.groups } : marks), [marks, isFolded])
  const found = (next: Selection | null): void => {
    if (isFolded && next?.kind !== 'group') setFolded(false)
    onSelect(next)
  }
  // In a folded graph, a box is a task, and selecting it selects the task.
  const picked = (next: Selection | null): void => onSelect(isFolded ? (next?.kind === 'node' ? { kind: 'group', id: next.id } : null) : next)
  const shown: Selection | null = !isFolded ? selection : selection?.kind === 'group' ? { kind: 'node', id: selection.id } : null
  const name = kind === 'job' ? 'Job graph' : 'Stream graph'
  return (
    <div className="pane">
      <div className="split">
        <div className="graph-side" ref={place}>
          {graph && (
            <GraphView
              graph={graph}
              marks={shownMarks}
              theme={theme}
              label={`${name} of ${plan.pipeline}`}
              selection={shown}
              onSelect={picked}
              toolbar={(viewport) => (
                <div className="toolbar">
                  <SearchBox plan={plan} kind={kind} onSelect={found} />
                  <GraphControls
                    viewport={viewport}
                    direction={graph.direction}
                    onTurn={() => setWanted(graph.direction === 'right' ? 'down' : 'right')}
                    onFold={kind === 'job' && plan.regions.length > 1 ? () => setFolded(!isFolded) : null}
                    isFolded={isFolded}
                  />
                  <Legend model={graph.model} theme={theme} states={run && shownMarks ? statesShown(shownMarks) : []} />
                  <ExportMenu plan={plan} graph={graph} marks={shownMarks} theme={theme} />
                </div>
              )}
            />
          )}
        </div>
        {selection && <Details plan={plan} run={run} kind={kind} selection={selection} theme={theme} onSelect={onSelect} />}
      </div>
    </div>
  )
}

const TOOLBAR = 46

/** The room for the graph when the page is opened, and after the window was resized. The details change nothing: boxes stay where they are. */
function useRoom(place: React.RefObject<HTMLDivElement | null>): Size | null {
  const [room, setRoom] = useState<Size | null>(null)
  const measure = (): void => {
    const { clientWidth: width, clientHeight: height } = place.current ?? { clientWidth: 0, clientHeight: 0 }
    setRoom((before) => {
      const next = { width: Math.max(200, width - 32), height: Math.max(160, height - TOOLBAR - 32) }
      return before?.width === next.width && before.height === next.height ? before : next
    })
  }
  useLayoutEffect(measure, []) // eslint-disable-line react-hooks/exhaustive-deps
  useEffect(() => {
    window.addEventListener('resize', measure)
    return () => window.removeEventListener('resize', measure)
  }, []) // eslint-disable-line react-hooks/exhaustive-deps
  return room
}
