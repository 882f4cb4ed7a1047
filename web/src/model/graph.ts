/** The model of a drawn graph, for each of Flink's graphs, and its placement. */

import type { Placement, Direction, Size } from '../layout/compound'
import { compound } from '../layout/compound'
import { textWidth, wrap } from './textWidth'

export type Role = 'source' | 'sink'

export interface GraphLine {
  name: string
  /** Empty if the name says it already. */
  kind: string
  role: Role | null
}

export interface GraphNode {
  id: string
  group: string
  /** The whole name. */
  title: string
  /** What is special about it, mostly its parallelism; may be empty. */
  subtitle: string
  lines: GraphLine[]
  /** Number of lines that were left out because there was no space. */
  hidden: number
  /** Whether rows enter the graph here, and whether they leave it. */
  roles: Role[]
}

export interface GraphEdge {
  id: string
  source: string
  target: string
  /** The label: how rows are sent. Empty for chained operators and for `forward`. */
  words: string[]
  /** Why it is staged, in the label. */
  reason: string | null
  /** The description on hover and for screen readers. */
  description: string
  kind: 'plain' | 'staged' | 'blocking' | 'chained' | 'virtual'
  /** The result that it reads: edges of the same result leave the hull as one line. */
  result: string | null
}

export interface GraphGroup {
  id: string
  title: string
  subtitle: string
  isHull: boolean
  /** The task that runs several regions is a frame around them. */
  parent: string | null
}

export interface GraphModel {
  kind: 'job' | 'stream'
  name: string
  nodes: GraphNode[]
  edges: GraphEdge[]
  groups: GraphGroup[]
}

export type Selection = { kind: 'node' | 'edge' | 'group'; id: string }

export interface Label {
  /** Words and reason, broken into lines. */
  lines: string[]
  /** What is most worth knowing, for smaller scales. */
  short: string
  /** The last line has a staged result's rows. */
  hasRows: boolean
  size: Size
}

export interface PlacedGraph {
  model: GraphModel
  placement: Placement
  labels: Map<string, Label>
  /** The flow within hulls, and of hulls. */
  direction: Direction
  outer: Direction
  hasFoot: boolean
}

/** Text sizes at full scale; smaller scales use larger text. */
export const TEXT = { title: 13, line: 12, hull: 14 }
export const LINE_HEIGHT = 18
export const MOST_LINES = 6
export const PADDING = 12
const LEAST_WIDTH = 120
const MOST_WIDTH = 270
const HEAD = 9
/** Names stay whole down to the smallest readable scale, at which their text is larger. */
const ROOM_FOR_NAMES = 1.6
const FOOT = 20
const LABEL_LINE = 15
/** Room for `336,776 rows · 9.4 MB`. */
const ROWS_WIDTH = 148
/** Room for the glyph of a source or sink, the mark of a state, and the glyph of a staged edge. */
export const GLYPH = 18
const LABEL_WIDTH: Record<Direction, number> = { right: 184, down: 250 }
const REASON_LINES: Record<Direction, number> = { right: 5, down: 3 }
/** How much larger text is where labels are left out, and how many lines of a reason there are then. */
const TERSE = 1.45
const MOST_LARGE = 6
/** Up to this many boxes, all four ways are tried; up to the next number, two. */
const TRIED_ALL = 60
const TRIED_TWO = 400

export function nodeSize(node: GraphNode, hasFoot: boolean): Size {
  const widths = node.lines.map(({ name, kind, role }, at) => {
    const words = textWidth(name, at ? TEXT.line : TEXT.title, at === 0) + (kind ? 10 + textWidth(kind, TEXT.line) : 0)
    return words + (role ? GLYPH : 0) + (at === 0 && hasFoot ? GLYPH + 6 : 0)
  })
  const names = node.lines.map(({ name }) => textWidth(name, TEXT.line, true) * ROOM_FOR_NAMES)
  const widest = Math.max(...widths, ...names, textWidth(node.subtitle, TEXT.line), hasFoot ? 116 : 0)
  const rows = node.lines.length + (node.hidden ? 1 : 0) + (node.subtitle ? 1 : 0)
  const sides = node.roles.length * 4
  return {
    width: Math.ceil(Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, widest + 2 * PADDING + sides))),
    height: 2 * HEAD + rows * LINE_HEIGHT + (hasFoot ? FOOT : 0),
  }
}

/** The label of an edge, broken into lines; null if it has none. A terse one has room for its `short` text in large letters. */
export function labelOf(edge: GraphEdge, direction: Direction, reason: string | null, hasRows: boolean, isTerse: boolean): Label | null {
  if (!edge.words.length) return null
  const most = LABEL_WIDTH[direction] * (isTerse ? 1.25 : 1)
  const isStaged = edge.kind === 'staged'
  const room = most - 14 - (isStaged ? GLYPH : 0)
  const lines = edge.words.flatMap((words, at) => wrap(words, room, TEXT.line, 3, isStaged && at === 0))
  if (reason) lines.push(...wrap(reason, room, TEXT.line, REASON_LINES[direction]))
  const text = Math.max(...lines.map((line, at) => textWidth(line, TEXT.line, isStaged && at === 0)), hasRows ? ROWS_WIDTH : isStaged ? 72 : 0)
  const count = lines.length + (hasRows ? 1 : 0)
  const short = reason ?? (edge.words.slice(1).join(' ') || edge.words.join(' '))
  const width = Math.ceil(Math.min(most, (isTerse ? TERSE : 1) * text + 14 + (isStaged ? GLYPH : 0)))
  const large = wrap(short, width - 14 - (isStaged ? GLYPH : 0), TEXT.line * TERSE, MOST_LARGE).length + (hasRows ? 1 : 0)
  return { lines, short, hasRows, size: { width, height: isTerse ? 8 + TEXT.line * TERSE * 1.15 * large : 8 + LABEL_LINE * count } }
}

/** `isTerse` leaves the labels of pipelined edges out: a vertex's details and the tooltip have them. */
export function placeGraph(model: GraphModel, direction: Direction, hasFoot: boolean, outer: Direction = direction, isTerse = false): PlacedGraph {
  const labels = new Map<string, Label>()
  const groupOf = new Map(model.nodes.map((node) => [node.id, node.group]))
  const told = new Set<string>()
  for (const edge of model.edges) {
    // A result that several vertices read has its reason once.
    const reason = edge.reason && `${edge.result} ${edge.reason}`
    const flow = groupOf.get(edge.source) === groupOf.get(edge.target) ? direction : outer
    const label = labelOf(edge, flow, reason && !told.has(reason) ? edge.reason : null, hasFoot && edge.result !== null, isTerse)
    if (reason) told.add(reason)
    if (label && !(isTerse && edge.kind === 'plain')) labels.set(edge.id, label)
  }
  const placement = compound(
    {
      nodes: model.nodes.map((node) => ({ id: node.id, group: node.group, ...nodeSize(node, hasFoot) })),
      edges: model.edges.map((edge) => ({
        id: edge.id,
        source: edge.source,
        target: edge.target,
        port: `${edge.source}|${edge.result ?? edge.id}`,
        label: labels.get(edge.id)?.size ?? null,
      })),
      groups: model.groups.map((group) => ({
        id: group.id,
        hull: group.isHull,
        parent: group.parent,
        title: Math.min(460, textWidth(group.title, TEXT.hull, true) + (hasFoot ? GLYPH + 24 : textWidth(group.subtitle, TEXT.line) + 24)),
        head: hasFoot ? 66 : 36,
      })),
    },
    direction,
    outer,
  )
  return { model, placement, labels, direction, outer, hasFoot }
}

/** The scale at which a graph fits into a window; not more than its full size. */
export function fittedScale({ placement: { size } }: PlacedGraph, window: Size): number {
  return Math.min(1, window.width / Math.max(1, size.width), window.height / Math.max(1, size.height))
}

/** Below this scale, there is no room for the labels of pipelined edges. */
export const FULL_FROM = 0.92
/** Down to this scale, boxes have room for their names, so a whole graph is shown; else a part of it, in full. */
export const READABLE = 0.6
/** The scale at which a part of a graph is shown at first. */
const PART = 0.96

/** The scale for a part of a graph: its whole width or height is in the window if that is readable. */
export function partScale(size: Size, window: Size): number {
  const one = Math.max(window.width / Math.max(1, size.width), window.height / Math.max(1, size.height))
  return one >= READABLE + 0.1 ? Math.min(PART, one) : PART
}

/** Leaving labels out does not make a graph that much larger. */
const HOPELESS = 0.3

/**
 * Return the placement that shows the graph largest in a window, of those with the wanted flow; from left to right if they are
 * equal. A graph that fits only without labels has none; one that does not fit at all has them, for a part of it is shown.
 */
export function placeReadably(model: GraphModel, hasFoot: boolean, window: Size, wanted: Direction | null = null): PlacedGraph {
  const count = model.nodes.length
  const inner: Direction[] = wanted ? [wanted] : count > TRIED_TWO ? ['right'] : ['right', 'down']
  const hulls = model.groups.length > 1 && count <= TRIED_ALL
  const ways = inner.flatMap((direction): [Direction, Direction][] => {
    const other = direction === 'right' ? 'down' : 'right'
    return hulls ? [[direction, direction], [direction, other]] : [[direction, direction]]
  })
  const placed = (isTerse: boolean): PlacedGraph[] => ways.map(([direction, outer]) => placeGraph(model, direction, hasFoot, outer, isTerse))
  const best = (graphs: PlacedGraph[], score: (graph: PlacedGraph) => number): PlacedGraph =>
    graphs.reduce((found, one) => (score(one) > 1.05 * score(found) ? one : found))
  const fitted = (graph: PlacedGraph): number => fittedScale(graph, window)
  const labeled = placed(false)
  const whole = best(labeled, fitted)
  if (fitted(whole) >= FULL_FROM || count > TRIED_TWO) return whole
  const terse = fitted(whole) >= HOPELESS ? placed(true) : labeled
  const fitting = best(terse, fitted)
  if (fitted(fitting) >= READABLE) return fitting
  // A part is shown: the more of it, the better; without labels if they could not be read.
  const seen = ({ placement: { size } }: PlacedGraph): number => Math.min(1, window.width / size.width) * Math.min(1, window.height / size.height)
  const part = best(labeled, seen)
  return partScale(part.placement.size, window) >= FULL_FROM ? part : best(terse, seen)
}
