import type { StatePaint } from '../export/palette'

/** A state, shown by color, shape and name. */
export function StateBadge({ paint, children }: { paint: StatePaint; children?: React.ReactNode }) {
  return (
    <span className="state" style={{ color: paint.color }}>
      <svg width="16" height="16" viewBox="-2 -2 16 16" aria-hidden="true">
        <circle cx="6" cy="6" r="8" fill={paint.color} />
        <path d={paint.glyph} fill="none" className="state-glyph" />
      </svg>
      {children ?? paint.words}
    </span>
  )
}
