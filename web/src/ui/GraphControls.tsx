import type { Direction } from '../layout/compound'
import type { Viewport } from './useViewport'

interface Properties {
  viewport: Viewport
  direction: Direction
  onTurn: () => void
  onFold: (() => void) | null
  isFolded: boolean
}

export function GraphControls({ viewport, direction, onTurn, onFold, isFolded }: Properties) {
  return (
    <div className="controls" role="group" aria-label="View">
      <button type="button" onClick={() => viewport.zoom(1.3)} aria-label="Zoom in" title="Zoom in (+)">
        +
      </button>
      <button type="button" onClick={() => viewport.zoom(1 / 1.3)} aria-label="Zoom out" title="Zoom out (-)">
        −
      </button>
      <button type="button" onClick={viewport.fit} aria-label="Fit the whole graph" title="Fit (0)">
        ⤢
      </button>
      <button
        type="button"
        onClick={onTurn}
        aria-label={direction === 'right' ? 'Lay out from top to bottom' : 'Lay out from left to right'}
        title={direction === 'right' ? 'Top to bottom' : 'Left to right'}
      >
        {direction === 'right' ? '↓' : '→'}
      </button>
      {onFold && (
        <button
          type="button"
          onClick={onFold}
          aria-pressed={isFolded}
          aria-label="Show tasks only"
          title={isFolded ? 'Show the vertices in each task' : 'Show tasks only'}
        >
          ▣
        </button>
      )}
    </div>
  )
}
