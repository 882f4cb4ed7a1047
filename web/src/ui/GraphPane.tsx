import { useMemo, useState } from 'react'
import type { ViewPlan, ViewRun } from '../documents'
import type { Theme } from '../export/palette'
import { placeGraph, type Selection } from '../model/graph'
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

/** One of the graphs, with its search, its exports, and the details of what is selected. */
export function GraphPane({ plan, run, kind, marks, theme, selection, onSelect }: Properties) {
  const [direction, setDirection] = useState<Direction>('right')
  const hasFoot = marks !== null
  const graph = useMemo(() => {
    performance.mark('layout-start')
    const placed = placeGraph(kind === 'job' ? jobGraph(plan) : streamGraph(plan), direction, hasFoot)
    performance.measure('layout', 'layout-start')
    return placed
  }, [plan, kind, direction, hasFoot])
  const name = kind === 'job' ? 'Job graph' : 'Stream graph'
  return (
    <div className="pane">
      <div className="toolbar">
        <SearchBox plan={plan} model={graph.model} onSelect={onSelect} />
        <Legend kind={kind} theme={theme} hasRun={run !== null} />
        <ExportMenu plan={plan} graph={graph} marks={marks} theme={theme} />
      </div>
      <div className="split">
        <GraphView
          graph={graph}
          marks={marks}
          theme={theme}
          label={`${name} of ${plan.pipeline}`}
          selection={selection}
          onSelect={onSelect}
          onTurn={() => setDirection(direction === 'right' ? 'down' : 'right')}
        />
        {selection && <Details plan={plan} run={run} kind={kind} selection={selection} theme={theme} onSelect={onSelect} />}
      </div>
    </div>
  )
}
