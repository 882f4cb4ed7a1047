/** A placed graph as plain shapes, for the screen and for exported pictures. */

import type { Box } from '../layout/compound'
import { linePath } from '../layout/compound'
import { labelSize, LINE_HEIGHT, type GraphEdge, type GraphGroup, type GraphNode, type PlacedGraph } from '../model/graph'
import type { Mark } from '../model/runState'
import { fit, textWidth, wrap } from '../model/textWidth'
import { CHANGE_PAINT, paint, statePaint, type Paint, type PaintName, type Theme } from './palette'

export type Shape =
  | { kind: 'rect'; paint: Paint; x: number; y: number; width: number; height: number; radius: number }
  | { kind: 'path'; paint: Paint; d: string }
  | { kind: 'text'; paint: Paint; x: number; y: number; size: number; isBold: boolean; text: string }

/** The level of detail: everything, large names only, or blocks. */
export type Level = 'full' | 'names' | 'blocks'

const CYLINDER = 'a6 2.2 0 0 1 12 0v8a6 2.2 0 0 1 -12 0zm0 0a6 2.2 0 0 0 12 0'

function text(name: PaintName, theme: Theme, x: number, y: number, size: number, words: string, isBold = false): Shape {
  return { kind: 'text', paint: paint(name, theme), x, y, size, isBold, text: words }
}

function badge(mark: Mark, theme: Theme, x: number, y: number, scale: number): Shape[] {
  const found = markPaint(mark, theme)
  if (!found) return []
  const size = 18 * scale
  const glyph = movedGlyph(found.glyph, x + 3 * scale, y + 3 * scale, scale)
  const drawn = paint('badgeGlyph', theme)
  return [
    { kind: 'rect', paint: { fill: found.color }, x, y, width: size, height: size, radius: size / 2 },
    { kind: 'path', paint: { ...drawn, width: (drawn.width ?? 1) * scale }, d: glyph },
  ]
}

export function markPaint(mark: Mark | undefined, theme: Theme): { color: string; glyph: string } | null {
  if (mark?.state) return statePaint(mark.state, theme)
  if (mark?.change) return { color: CHANGE_PAINT[mark.change][theme], glyph: CHANGE_PAINT[mark.change].glyph }
  return null
}

/** Return a glyph's path at a position and in a size: absolute coordinates are moved, all coordinates are scaled. */
export function movedGlyph(path: string, x: number, y: number, scale: number): string {
  return path.replace(/([a-zA-Z])([^a-zA-Z]*)/g, (_, command: string, rest: string) => {
    const numbers = rest.match(/-?\d*\.?\d+/g)?.map(Number) ?? []
    const isAbsolute = command === command.toUpperCase() && command !== 'Z'
    const moved = numbers.map((value, at) => {
      if (command.toLowerCase() === 'a') {
        const place = at % 7
        if (place === 2 || place === 3 || place === 4) return value
        return value * scale + (isAbsolute && place > 4 ? (place === 5 ? x : y) : 0)
      }
      const shift = command === 'V' ? y : command === 'H' ? x : at % 2 ? y : x
      return value * scale + (isAbsolute ? shift : 0)
    })
    return command + moved.map((value) => Math.round(value * 100) / 100).join(' ')
  })
}

export function nodeShapes(node: GraphNode, box: Box, mark: Mark | undefined, theme: Theme, level: Level, hasFoot: boolean): Shape[] {
  const found = markPaint(mark, theme)
  const outline = found && mark?.change ? { ...paint('node', theme), stroke: found.color, width: 2.5 } : paint('node', theme)
  const fill = level === 'blocks' ? { fill: found?.color ?? paint('plain', theme).stroke ?? '' } : outline
  const shapes: Shape[] = [{ kind: 'rect', paint: fill, ...box, radius: 6 }]
  if (level === 'blocks') return shapes
  if (found) shapes.push({ kind: 'rect', paint: { fill: found.color }, x: box.x, y: box.y + 4, width: 5, height: box.height - 8, radius: 2.5 })
  const room = box.width - 24 - (found ? 24 : 0)
  if (level === 'names') {
    const size = Math.min(22, box.height * 0.32)
    const lines = wrap(node.title, box.width - 24, size, 2, true)
    const top = box.y + (box.height - lines.length * size * 1.15) / 2
    lines.forEach((line, at) => shapes.push(text('title', theme, box.x + 14, top + size * (0.9 + 1.15 * at), size, line, true)))
    if (mark) shapes.push(...badge(mark, theme, box.x + box.width - 19, box.y - 9, 1.4))
    return shapes
  }
  shapes.push(text('title', theme, box.x + 12, box.y + 18, 13, fit(node.title, room, 13, true), true))
  shapes.push(text('subtitle', theme, box.x + 12, box.y + 34, 11, fit(node.subtitle, box.width - 24, 11)))
  const lines = node.hidden ? [...node.lines, `+ ${node.hidden} more`] : node.lines
  if (lines.length) shapes.push({ kind: 'path', paint: paint('rule', theme), d: `M${box.x + 8} ${box.y + 42}h${box.width - 16}` })
  lines.forEach((line, at) =>
    shapes.push(text('line', theme, box.x + 12, box.y + 57 + at * LINE_HEIGHT, 11, fit(line, box.width - 24, 11))),
  )
  if (mark) shapes.push(...badge(mark, theme, box.x + box.width - 25, box.y + 6, 1))
  if (hasFoot && mark) {
    const color = found ? { fill: found.color } : paint('subtitle', theme)
    const words = mark.attempt && mark.attempt > 1 ? `${mark.foot} · attempt ${mark.attempt}` : mark.foot
    shapes.push({ kind: 'text', paint: color, x: box.x + 12, y: box.y + box.height - 8, size: 11, isBold: true, text: fit(words, box.width - 24, 11, true) })
  }
  return shapes
}

export function groupShapes(group: GraphGroup, box: Box, mark: Mark | undefined, theme: Theme, level: Level): Shape[] {
  if (!group.isHull) return []
  const found = markPaint(mark, theme)
  const hull = found ? { ...paint('hull', theme), stroke: found.color, width: 1.5 } : paint('hull', theme)
  const shapes: Shape[] = [{ kind: 'rect', paint: hull, ...box, radius: 12 }]
  if (level === 'blocks') return shapes
  const size = level === 'names' ? Math.min(26, Math.max(14, box.height / 8)) : 13
  const title = fit(group.title, box.width - 28, size, true)
  const y = box.y + (level === 'names' ? size + 2 : 21)
  const words = mark ? mark.foot : group.subtitle
  shapes.push(text('hullTitle', theme, box.x + 14, y, size, title, true))
  if (level === 'full') {
    const used = Math.ceil(textWidth(title, size, true)) + 26
    shapes.push(text('hullSubtitle', theme, box.x + used, y, 11, fit(words, box.width - used - 10, 11)))
  }
  return shapes
}

function arrow(graph: PlacedGraph, edge: GraphEdge, color: string): Shape[] {
  const end = graph.placement.edges.get(edge.id)?.points.at(-1)
  if (!end || edge.kind === 'chained') return []
  const size = edge.kind === 'staged' ? 9 : 7
  const half = size * 0.6
  const d =
    graph.direction === 'right'
      ? `M${end.x} ${end.y}l${-size} ${-half}v${2 * half}z`
      : `M${end.x} ${end.y}l${-half} ${-size}h${2 * half}z`
  return [{ kind: 'path', paint: { fill: color }, d }]
}

export function edgeShapes(graph: PlacedGraph, edge: GraphEdge, theme: Theme, level: Level): Shape[] {
  const placed = graph.placement.edges.get(edge.id)
  if (!placed) return []
  const line: Paint = paint(edge.kind, theme)
  const d = linePath(placed.points, graph.direction)
  if (level === 'blocks') return [{ kind: 'path', paint: { fill: 'none', stroke: line.stroke ?? '', width: (line.width ?? 1) * 4 }, d }]
  const shapes: Shape[] = [{ kind: 'path', paint: line, d }]
  shapes.push(...arrow(graph, edge, line.stroke ?? ''))
  const size = labelSize(edge)
  if (!placed.label || !size) return shapes
  const isStaged = edge.kind === 'staged'
  const [x, y] = [placed.label.x - size.width / 2, placed.label.y - size.height / 2]
  const isVirtual = edge.kind === 'virtual'
  if (level === 'full' || isStaged || isVirtual) {
    const name = isStaged ? 'labelStaged' : isVirtual ? 'labelVirtual' : 'label'
    shapes.push({ kind: 'rect', paint: paint(name, theme), x, y, ...size, radius: isVirtual ? size.height / 2 : 5 })
  }
  if (isStaged) {
    const glyph = { fill: 'none', stroke: line.stroke ?? '', width: 1.4 }
    const left = level === 'full' ? x + 6 : placed.label.x - 6
    shapes.push({ kind: 'path', paint: glyph, d: `M${left} ${y + size.height / 2 - 4}${CYLINDER}` })
  }
  if (level !== 'full') return shapes
  const left = x + 7 + (isStaged ? 16 : 0)
  edge.words.forEach((words, at) =>
    shapes.push(
      text(isStaged ? 'labelTextStaged' : 'labelText', theme, left, y + 14 + at * 14, 11, fit(words, size.width - (left - x) - 5, 11, at === 0), at === 0),
    ),
  )
  return shapes
}
