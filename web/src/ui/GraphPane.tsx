import { useMemo, useState } from 'react'
import type { ViewPlan, ViewRun } from '../documents'
import type { Theme } from '../export/palette'
import { collapse, FOLDED_FROM } from '../model/collapse'
import { placeGraph, placeReadably, type Selection } from '../model/graph'
import { jobGraph } from '../model/jobGraph'
import type { Marks } from '../model/runState'
import { streamGraph } from '../model/streamGraph'
import type { Direction } from '../layout/compound'
import { Details } from './Details'
import { ExportMenu } from './ExportMenu'
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
  const graph = useMemo(() => {
    performance.mark('layout-start')
    const whole = kind === 'job' ? jobGraph(plan) : streamGraph(plan)
    const model = isFolded ? collapse(whole) : whole
    const placed = wanted ? placeGraph(model, wanted, hasFoot) : placeReadably(model, hasFoot, { width: window.innerWidth, height: window.innerHeight - 130 })
    performance.measure('layout', 'layout-start')
    return placed
  }, [plan, kind, wanted, hasFoot, isFolded])
  const shownMarks = useMemo(() => (marks && isFolded ? { nodes: marks.groups, groups: marks.groups } : marks), [marks, isFolded])
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
      <div className="toolbar">
        <SearchBox plan={plan} kind={kind} onSelect={found} />
        <ExportMenu plan={plan} graph={graph} marks={shownMarks} theme={theme} />
      </div>
      <div className="split">
        <GraphView
          graph={graph}
          marks={shownMarks}
          theme={theme}
          label={`${name} of ${plan.pipeline}`}
          selection={shown}
          onSelect={picked}
          onTurn={() => setWanted(graph.direction === 'right' ? 'down' : 'right')}
          onFold={kind === 'job' && plan.regions.length > 1 ? () => setFolded(!isFolded) : null}
          isFolded={isFolded}
          legend={<Legend kind={kind} theme={theme} hasRun={run !== null && marks !== null} />}
        />
        {selection && <Details plan={plan} run={run} kind={kind} selection={selection} theme={theme} onSelect={onSelect} />}
      </div>
    </div>
  )
}
