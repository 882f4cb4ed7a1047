import { useState } from 'react'
import type { ViewPlan } from '../documents'
import { download } from '../export/download'
import { mermaidText } from '../export/mermaid'
import type { Theme } from '../export/palette'
import { pngBlob } from '../export/png'
import { svgText } from '../export/svg'
import type { PlacedGraph } from '../model/graph'
import type { Marks } from '../model/runState'

interface Properties {
  plan: ViewPlan
  graph: PlacedGraph
  marks: Marks | null
  theme: Theme
}

/** Exports the graph that is shown to a file. */
export function ExportMenu({ plan, graph, marks, theme }: Properties) {
  const [error, setError] = useState<string | null>(null)
  const name = `${plan.pipeline}-${graph.model.kind}-graph`
  const ways: Record<string, () => void | Promise<void>> = {
    SVG: () => download(`${name}.svg`, svgText(graph, marks, theme), 'image/svg+xml'),
    PNG: async () => download(`${name}.png`, await pngBlob(svgText(graph, marks, theme))),
    Mermaid: () => download(`${name}.mmd`, mermaidText(graph.model)),
    JSON: () => download(`${plan.pipeline}-plan.json`, `${JSON.stringify(plan, null, 1)}\n`, 'application/json'),
  }
  return (
    <div className="export" role="group" aria-label="Export">
      <span aria-hidden="true">Export</span>
      {Object.entries(ways).map(([way, act]) => (
        <button
          key={way}
          type="button"
          aria-label={`Export as ${way}`}
          onClick={() => {
            setError(null)
            Promise.resolve(act()).catch((problem: unknown) => setError(problem instanceof Error ? problem.message : String(problem)))
          }}
        >
          {way}
        </button>
      ))}
      {error && <span role="alert">{error}</span>}
    </div>
  )
}
