/** A placed graph as plain shapes, for the screen and for exported pictures. */

import type { Box, PlacedGroup } from '../layout/compound'
import { linePath } from '../layout/lines'
import { GLYPH, LINE_HEIGHT, PADDING, TEXT, type GraphEdge, type GraphGroup, type GraphNode, type Label, type PlacedGraph, type Role } from '../model/graph'
import type { Mark } from '../model/runState'
import { fit, fitParts, textWidth, wrap } from '../model/textWidth'
import { CHANGE_PAINT, paint, ROLE_GLYPHS, statePaint, type Paint, type PaintName, type Theme } from './palette'

export type Shape =
  | { kind: 'rect'; paint: Paint; x: number; y: number; width: number; height: number; radius: number }
  | { kind: 'path'; paint: Paint; d: string }
  | { kind: 'text'; paint: Paint; x: number; y: number; size: number; isBold: boolean; text: string }

/** The level of detail: everything, names only, or blocks. Text is larger by `zoom`, so that it stays readable on the screen. */
export interface Level {
  form: 'full' | 'names' | 'blocks'
  zoom: number
}

/** The smallest scale of each level. Each has text of one size, so small steps of the scale draw nothing again. */
const LEVELS: [least: number, level: Level][] = [
  [0.92, { form: 'full', zoom: 1 }],
  ...[0.79, 0.69, 0.6, 0.52, 0.44, 0.37].map((least): [number, Level] => [least, { form: 'names', zoom: 0.96 / least }]),
  ...[0.27, 0.2, 0.14, 0.1, 0.07, 0.05, 0.03, 0].map((least): [number, Level] => [least, { form: 'blocks', zoom: 1 / Math.max(0.02, least) }]),
]
export const FULL: Level = { form: 'full', zoom: 1 }

export function levelOf(scale: number): Level {
  return LEVELS.find(([least]) => scale >= least)?.[1] ?? FULL
}

const CYLINDER = 'a6 2.2 0 0 1 12 0v8a6 2.2 0 0 1 -12 0zm0 0a6 2.2 0 0 0 12 0'
const PITCH = 1.15

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

/** A box: sources are round on the left, where nothing enters them, and sinks on the right. */
function outline(box: Box, roles: readonly Role[]): string {
  const round = Math.min(box.height / 2, 20)
  const [left, right] = [roles.includes('source') ? round : 6, roles.includes('sink') ? round : 6]
  const { x, y, width, height } = box
  return (
    `M${x + left} ${y}h${width - left - right}a${right} ${right} 0 0 1 ${right} ${right}v${height - 2 * right}a${right} ${right} 0 0 1 ${-right} ${right}` +
    `h${left + right - width}a${left} ${left} 0 0 1 ${-left} ${-left}v${2 * left - height}a${left} ${left} 0 0 1 ${left} ${-left}z`
  )
}

export function nodeShapes(node: GraphNode, box: Box, mark: Mark | undefined, theme: Theme, level: Level, hasFoot: boolean): Shape[] {
  const found = markPaint(mark, theme)
  const plain = paint(node.roles.length ? 'end' : 'node', theme)
  const frame: Paint = mark?.isIdle ? { ...plain, dash: '4 3' } : found ? { ...plain, stroke: found.color, width: 2 } : plain
  if (level.form === 'blocks') {
    return [{ kind: 'path', paint: { fill: (mark?.isIdle ? null : found?.color) ?? paint('plain', theme).stroke ?? '' }, d: outline(box, node.roles) }]
  }
  const shapes: Shape[] = [{ kind: 'path', paint: frame, d: outline(box, node.roles) }]
  const foot = found && mark ? { kind: 'text' as const, paint: { fill: mark.isIdle ? paint('subtitle', theme).fill : found.color }, isBold: true } : null
  const inset = node.roles.includes('source') ? PADDING + 4 : PADDING
  const width = box.width - inset - (node.roles.includes('sink') ? PADDING + 4 : PADDING)
  const x = box.x + inset
  if (level.form === 'names') {
    const [size, small] = [TEXT.line * level.zoom, TEXT.line * level.zoom]
    const hasRoom = hasFoot && box.height >= 6 + (size + small) * PITCH
    const room = box.height - (hasRoom ? small * PITCH : 0)
    const words = node.lines.map((line) => line.name).join(' → ')
    const lines = wrap(words, width + 8, size, Math.max(1, Math.floor(room / (size * PITCH))), true)
    const top = box.y + (room - lines.length * size * PITCH) / 2
    lines.forEach((line, at) => shapes.push(text('title', theme, x - 4, top + size * (0.95 + PITCH * at), size, line, true)))
    if (foot && hasRoom) shapes.push({ ...foot, x: x - 4, y: box.y + box.height - small * 0.45, size: small, text: fitParts(mark?.foot ?? '', width + 8, small, true) })
    if (mark && !mark.isIdle) shapes.push(...badge(mark, theme, box.x + box.width - 12 * level.zoom, box.y - 7 * level.zoom, level.zoom))
    return shapes
  }
  let y = box.y + 21
  node.lines.forEach(({ name, kind, role }, at) => {
    const room = width - (at === 0 && mark && !mark.isIdle ? GLYPH + 6 : 0)
    const size = at ? TEXT.line : TEXT.title
    const left = role ? GLYPH : 0
    if (role) shapes.push(...roleGlyph(role, theme, x, y - 10, 1))
    const kindWidth = kind ? textWidth(kind, TEXT.line) + 10 : 0
    // The kind gives way to the name.
    const fitted = fit(name, room - left, size, at === 0)
    const isWhole = textWidth(fitted, size, at === 0) + kindWidth <= room - left + 0.5
    shapes.push(text('title', theme, x + left, y, size, fitted, at === 0))
    if (kind && isWhole) shapes.push(text('subtitle', theme, x + left + textWidth(fitted, size, at === 0) + 8, y, TEXT.line, kind))
    y += LINE_HEIGHT
  })
  if (node.hidden) {
    shapes.push(text('subtitle', theme, x, y, TEXT.line, `+ ${node.hidden} more`))
    y += LINE_HEIGHT
  }
  if (node.subtitle) shapes.push(text('subtitle', theme, x, y, TEXT.line, fit(node.subtitle, width, TEXT.line)))
  if (mark && !mark.isIdle) shapes.push(...badge(mark, theme, box.x + box.width - 26, box.y + 7, 1))
  if (hasFoot && foot && mark) {
    const words = mark.attempt && mark.attempt > 1 ? `${mark.foot} · attempt ${mark.attempt}` : mark.foot
    shapes.push({ ...foot, x, y: box.y + box.height - 10, size: TEXT.line, text: fitParts(words, width, TEXT.line, true) })
  }
  return shapes
}

function roleGlyph(role: Role, theme: Theme, x: number, y: number, scale: number): Shape[] {
  const { stroke } = paint('end', theme)
  return [{ kind: 'path', paint: { fill: 'none', stroke: stroke ?? '', width: 1.8 * scale }, d: movedGlyph(ROLE_GLYPHS[role], x, y, scale) }]
}

export function groupShapes(group: GraphGroup, box: Box, mark: Mark | undefined, theme: Theme, level: Level): Shape[] {
  if (!group.isHull) return []
  const found = mark?.isIdle ? null : markPaint(mark, theme)
  const hull = paint(group.parent === null ? 'hull' : 'region', theme)
  const look: Paint = mark?.isIdle ? { ...hull, dash: '5 4' } : found ? { ...hull, stroke: found.color, width: 2 } : hull
  return [{ kind: 'rect', paint: { ...look, width: (look.width ?? 1) * (level.form === 'blocks' ? 2 : 1) }, ...box, radius: 12 }]
}

/** The title of a hull, above the lines that enter it. */
export function titleShapes(group: GraphGroup, { title, y, width: whole }: PlacedGroup, mark: Mark | undefined, theme: Theme, level: Level): Shape[] {
  if (!group.isHull || !group.title) return []
  const size = (level.form === 'full' ? TEXT.hull : TEXT.title) * level.zoom
  const small = TEXT.line * level.zoom
  // Text that does not fit is left out from afar: search and the arrow keys find every task.
  if (level.form === 'blocks' && textWidth(group.title, size, true) > whole - 12) return []
  const hasBadge = mark !== undefined && !mark.isIdle && level.form !== 'blocks'
  const left = title.x + (hasBadge ? 22 * level.zoom : 0)
  const room = Math.max(title.width, level.form === 'full' ? 0 : whole - 20) - (left - title.x)
  const base = y + (level.form === 'full' ? 22 : 4 + size)
  const name = fit(group.title, room, size, true)
  const used = textWidth(name, size, true)
  const [at, from] = mark ? [{ x: left, y: base + small * 1.35 }, 0] : [{ x: left + used + 10 * level.zoom, y: base }, used + 10 * level.zoom]
  const words = level.form === 'blocks' ? '' : fitParts(mark ? mark.foot : group.subtitle, room - from, small)
  const hasWords = words.length > 1 && !(words.endsWith('…') && !mark)
  const covered = left - title.x + Math.max(used, hasWords ? from + textWidth(words, small) : 0)
  const height = mark && hasWords ? size * 1.3 + small * 1.3 : size * 1.3
  const shapes: Shape[] = [
    { kind: 'rect', paint: { fill: paint(group.parent === null ? 'hull' : 'region', theme).fill }, x: title.x - 3, y: base - size, width: covered + 6, height, radius: 3 },
  ]
  if (hasBadge) shapes.push(...badge(mark, theme, title.x, base - 14 * level.zoom, level.zoom))
  shapes.push(text('hullTitle', theme, left, base, size, name, true))
  if (hasWords) shapes.push(text('hullSubtitle', theme, at.x, at.y, small, words))
  return shapes
}

function arrow(graph: PlacedGraph, edge: GraphEdge, color: string): Shape[] {
  const last = graph.placement.edges.get(edge.id)?.runs.at(-1)
  const end = last?.points.at(-1)
  if (!end || edge.kind === 'chained') return []
  const size = edge.kind === 'staged' ? 9 : 7
  const half = size * 0.6
  const d =
    last?.direction === 'right'
      ? `M${end.x} ${end.y}l${-size} ${-half}v${2 * half}z`
      : `M${end.x} ${end.y}l${-half} ${-size}h${2 * half}z`
  return [{ kind: 'path', paint: { fill: color }, d }]
}

/** The line of an edge; `rows` of a staged result are on its label. */
export function edgeShapes(graph: PlacedGraph, edge: GraphEdge, theme: Theme, level: Level, rows: string | null = null): Shape[] {
  const placed = graph.placement.edges.get(edge.id)
  if (!placed) return []
  const line: Paint = paint(edge.kind, theme)
  const d = linePath(placed.runs)
  if (level.form === 'blocks') return [{ kind: 'path', paint: { fill: 'none', stroke: line.stroke ?? '', width: (line.width ?? 1) * 2 }, d }]
  const shapes: Shape[] = [{ kind: 'path', paint: line, d }]
  shapes.push(...arrow(graph, edge, line.stroke ?? ''))
  const label = graph.labels.get(edge.id)
  if (!placed.label || !label || (level.form === 'names' && edge.kind !== 'staged')) return shapes
  const [x, y] = [placed.label.x - label.size.width / 2, placed.label.y - label.size.height / 2]
  return [...shapes, ...labelShapes(edge, label, x, y, theme, level, rows)]
}

function labelShapes(edge: GraphEdge, label: Label, x: number, y: number, theme: Theme, level: Level, rows: string | null): Shape[] {
  const { size } = label
  const isStaged = edge.kind === 'staged'
  const isVirtual = edge.kind === 'virtual'
  const name = isStaged ? 'labelStaged' : isVirtual ? 'labelVirtual' : 'label'
  const words = isStaged ? 'labelTextStaged' : 'labelText'
  const shapes: Shape[] = [{ kind: 'rect', paint: paint(name, theme), x, y, ...size, radius: isVirtual ? Math.min(12, size.height / 2) : 5 }]
  const height = TEXT.line * level.zoom
  const pitch = level.form === 'full' ? Math.min(16, (size.height - 8) / (label.lines.length + (label.hasRows ? 1 : 0))) : height * PITCH
  const left = x + 7 + (isStaged ? GLYPH : 0)
  const width = size.width - (left - x) - 5
  const count = Math.max(1, Math.floor((size.height - 4) / pitch))
  const told = rows && label.hasRows && count > 1 ? [fitParts(rows, width, height)] : []
  const lines = level.form === 'full' ? label.lines : [...wrap(label.short, width, height, count - told.length), ...told]
  const top = level.form === 'full' ? y + 4 : y + (size.height - lines.length * pitch) / 2
  if (isStaged) shapes.push({ kind: 'path', paint: { fill: 'none', stroke: paint('staged', theme).stroke ?? '', width: 1.4 }, d: `M${x + 7} ${top + 5}${CYLINDER}` })
  const isTitled = level.form === 'full'
  lines.forEach((line, at) => shapes.push(text(words, theme, left, top + height * 0.95 + at * pitch, height, line, isTitled && isStaged && at === 0)))
  if (isTitled && label.hasRows && rows) shapes.push(text(words, theme, left, top + height * 0.95 + lines.length * pitch, height, fitParts(rows, width, height, true), true))
  return shapes
}
