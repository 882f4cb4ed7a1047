import { useEffect, useRef, type PointerEvent } from 'react'
import { paint, type Theme } from '../export/palette'
import { markPaint } from '../export/shapes'
import type { PlacedGraph } from '../model/graph'
import type { Marks } from '../model/runState'
import type { Viewport } from './useViewport'

const WIDTH = 200
const HEIGHT = 130
const LEAST = 48

interface Properties {
  graph: PlacedGraph
  marks: Marks | null
  theme: Theme
  viewport: Viewport
}

/** The whole graph, small, with the position of the window, unless all of it is visible. For the pointer only: the keyboard has search and the arrow keys. */
export function Minimap({ graph, marks, theme, viewport }: Properties) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const { size } = graph.placement
  const scale = Math.min(WIDTH / size.width, HEIGHT / size.height)
  const [width, height] = [Math.max(LEAST, size.width * scale), Math.max(LEAST, size.height * scale)]
  const [left, top] = [(width - size.width * scale) / 2, (height - size.height * scale) / 2]
  useEffect(() => {
    const context = canvas.current?.getContext('2d')
    if (!context) return
    context.setTransform(1, 0, 0, 1, 0, 0)
    context.clearRect(0, 0, 2 * width, 2 * height)
    context.setTransform(2 * scale, 0, 0, 2 * scale, 2 * left, 2 * top)
    for (const group of graph.model.groups) {
      const box = graph.placement.groups.get(group.id)
      if (!box || !group.isHull) continue
      context.fillStyle = paint('rule', theme).stroke ?? ''
      context.fillRect(box.x, box.y, box.width, box.height)
    }
    for (const [id, box] of graph.placement.nodes) {
      const mark = marks?.nodes.get(id)
      context.fillStyle = markPaint(mark?.isIdle ? undefined : mark, theme)?.color ?? paint('plain', theme).stroke ?? ''
      context.fillRect(box.x, box.y, box.width, box.height)
    }
  }, [graph, marks, theme, scale, width, height, left, top])
  useEffect(
    () =>
      viewport.watch((seen) => {
        const element = frame.current
        if (!element?.parentElement) return
        const isWhole = seen.x <= 0 && seen.y <= 0 && seen.x + seen.width >= size.width && seen.y + seen.height >= size.height
        element.parentElement.hidden = isWhole
        const [x, y] = [Math.max(0, left + seen.x * scale), Math.max(0, top + seen.y * scale)]
        element.style.left = `${x}px`
        element.style.top = `${y}px`
        element.style.width = `${Math.max(4, Math.min(width, left + (seen.x + seen.width) * scale) - x)}px`
        element.style.height = `${Math.max(4, Math.min(height, top + (seen.y + seen.height) * scale) - y)}px`
      }),
    [viewport, scale, width, height, left, top, size],
  )
  const go = (event: PointerEvent<HTMLDivElement>): void => {
    event.stopPropagation()
    if (event.type === 'pointermove' && event.buttons !== 1) return
    const box = event.currentTarget.getBoundingClientRect()
    viewport.center((event.clientX - box.left - left) / scale, (event.clientY - box.top - top) / scale)
  }
  return (
    <div className="minimap" aria-hidden="true" style={{ width, height }} onPointerDown={go} onPointerMove={go}>
      <canvas ref={canvas} width={2 * width} height={2 * height} style={{ width, height }} />
      <div className="minimap-window" ref={frame} />
    </div>
  )
}
