import type { Direction } from '../layout/compound'
import type { Viewport } from './useViewport'

interface Properties {
  viewport: Viewport
  direction: Direction
  onTurn?: (() => void) | undefined
}

export function GraphControls({ viewport, direction, onTurn }: Properties) {
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
      {onTurn && (
        <button
          type="button"
          onClick={onTurn}
          aria-label={direction === 'right' ? 'Lay out from top to bottom' : 'Lay out from left to right'}
          title={direction === 'right' ? 'Top to bottom' : 'Left to right'}
        >
          {direction === 'right' ? '↓' : '→'}
        </button>
      )}
    </div>
  )
}
