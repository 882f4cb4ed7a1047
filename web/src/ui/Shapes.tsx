import { memo } from 'react'
import type { Shape } from '../export/shapes'

/** Shapes on the screen; text is always rendered as text. */
export const Shapes = memo(function Shapes({ shapes }: { shapes: Shape[] }) {
  return shapes.map((shape, at) => {
    const { fill, stroke, width, dash } = shape.paint
    const look = { fill, stroke, strokeWidth: width, strokeDasharray: dash }
    switch (shape.kind) {
      case 'rect':
        return <rect key={at} x={shape.x} y={shape.y} width={shape.width} height={shape.height} rx={shape.radius} {...look} />
      case 'path':
        return <path key={at} d={shape.d} {...look} />
      case 'text':
        return (
          <text key={at} x={shape.x} y={shape.y} fontSize={shape.size} fontWeight={shape.isBold ? 600 : undefined} fill={fill}>
            {shape.text}
          </text>
        )
    }
  })
})
