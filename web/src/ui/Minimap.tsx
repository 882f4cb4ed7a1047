import { useEffect, useRef, type PointerEvent } from 'react'
import { paint, type Theme } from '../export/palette'
import { markPaint } from '../export/shapes'
import type { PlacedGraph } from '../model/graph'
import type { Marks } from '../model/runState'
import type { Viewport } from './useViewport'

const WIDTH = 200
const HEIGHT = 130

interface Properties {
  graph: PlacedGraph
  marks: Marks | null
  theme: Theme
  viewport: Viewport
}

/** The whole graph, small, with the position of the window. For the pointer only: the keyboard has search and the arrow keys. */
export function Minimap({ graph, marks, theme, viewport }: Properties) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const { size } = graph.placement
  const scale = Math.min(WIDTH / size.width, HEIGHT / size.height)
  const [width, height] = [Math.max(8, size.width * scale), Math.max(8, size.height * scale)]
  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (!context) return
    context.setTransform(2 * scale, 0, 0, 2 * scale, 0, 0)
    context.clearRect(0, 0, size.width, size.height)
    for (const group of graph.model.groups) {
      const box = graph.placement.groups.get(group.id)
      if (!box || !group.isHull) continue
      context.fillStyle = paint('rule', theme).stroke ?? ''
      context.fillRect(box.x, box.y, box.width, box.height)
    }
    for (const [id, box] of graph.placement.nodes) {
      context.fillStyle = markPaint(marks?.nodes.get(id), theme)?.color ?? paint('plain', theme).stroke ?? ''
      context.fillRect(box.x, box.y, box.width, box.height)
    }
  }, [graph, marks, theme, scale, size])
  useEffect(
    () =>
      viewport.watch((seen) => {
        const element = frame.current
        if (!element) return
        const left = Math.max(0, seen.x * scale)
        const top = Math.max(0, seen.y * scale)
        element.style.left = `${left}px`
        element.style.top = `${top}px`
        element.style.width = `${Math.max(4, Math.min(width, (seen.x + seen.width) * scale) - left)}px`
        element.style.height = `${Math.max(4, Math.min(height, (seen.y + seen.height) * scale) - top)}px`
      }),
    [viewport, scale, width, height],
  )
  const go = (event: PointerEvent<HTMLDivElement>): void => {
    event.stopPropagation()
    if (event.type === 'pointermove' && event.buttons !== 1) return
    const box = event.currentTarget.getBoundingClientRect()
    viewport.center((event.clientX - box.left) / scale, (event.clientY - box.top) / scale)
  }
  return (
    <div className="minimap" aria-hidden="true" style={{ width, height }} onPointerDown={go} onPointerMove={go}>
      <canvas ref={canvas} width={2 * width} height={2 * height} style={{ width, height }} />
      <div className="minimap-window" ref={frame} />
    </div>
  )
}
