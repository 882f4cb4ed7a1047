/**
 * A graph with nested hulls: the content of each hull is laid out separately, and then the hull is a box in the layout around
 * it. An edge that leaves a hull goes through one of its ports, so that lines never cross unrelated boxes. Hulls may follow
 * one another across the flow of their content, as lines of a text do: then edges turn in a corridor beside the content.
 */

import type { LayerEdge, LayerNode } from './cells'
import { layered, type FlowPoint, type Layered } from './layered'
import type { Point, Run } from './lines'

export type Direction = 'right' | 'down'

export interface Size {
  width: number
  height: number
}

export interface Box extends Point, Size {}

export interface CompoundGraph {
  nodes: (Size & { id: string; group: string })[]
  /** Edges with the same port leave their hull as one line. */
  edges: { id: string; source: string; target: string; port: string; label: Size | null }[]
  /** `title` is the width of its text, and `head` the height of that. Hulls without a parent are outermost. */
  groups: { id: string; hull: boolean; title: number; head: number; parent?: string | null }[]
}

export interface PlacedEdge {
  runs: Run[]
  points: Point[]
  label: Point | null
}

export interface PlacedGroup extends Box {
  /** Where its title begins, and the width that no line crosses. */
  title: { x: number; width: number }
}

export interface Placement {
  nodes: Map<string, Box>
  groups: Map<string, PlacedGroup>
  edges: Map<string, PlacedEdge>
  size: Size
}

const SIDE = 14
const CORRIDOR = 8
const ROOT = '\u0000'

interface Step extends Omit<LayerEdge, 'sourceOffset' | 'targetOffset'> {
  /** The port of the source or target, if that is a hull. */
  out?: string
  into?: string
}

interface Level {
  id: string
  isHull: boolean
  titleWidth: number
  head: number
  parent: string
  direction: Direction
  nodes: LayerNode[]
  steps: Step[]
  layout: Layered
  /** The size of its box, and where its content begins in it. */
  size: Size
  pad: Point
  corner: Point
  /** The corridors of its ports, along its own flow, from the corner of its box; none if the layout around it has its direction. */
  corridors: Map<string, number>
}

const flowOf = (direction: Direction, { width, height }: Size): { main: number; cross: number } =>
  direction === 'right' ? { main: width, cross: height } : { main: height, cross: width }
const pointOf = (direction: Direction, { main, cross }: FlowPoint): Point => (direction === 'right' ? { x: main, y: cross } : { x: cross, y: main })

/** `inner` is the flow within the hulls of nodes, `outer` that of the hulls. */
export function compound(graph: CompoundGraph, inner: Direction, outer: Direction = inner): Placement {
  const levels = levelsOf(graph, inner, outer)
  const chain = (node: string): Level[] => {
    const found: Level[] = []
    for (let level = levels.get(node); level; level = level.id === ROOT ? undefined : levels.get(level.parent)) found.push(level)
    return found
  }
  const chains = new Map(graph.nodes.map((node) => [node.id, chain(node.group)]))
  const ways = graph.edges.map((edge) => {
    const [up, down] = [chains.get(edge.source) ?? [], chains.get(edge.target) ?? []]
    const top = up.find((level) => down.includes(level)) ?? up.at(-1)
    return { edge, top, up: up.slice(0, top ? up.indexOf(top) : 0), down: down.slice(0, top ? down.indexOf(top) : 0) }
  })
  type Way = (typeof ways)[number]
  for (const way of ways) connect(way)
  arrange(ROOT)
  settle(ROOT, { x: 0, y: 0 })

  function connect({ edge, top, up, down }: Way): void {
    const [out, into] = [`o:${edge.port}`, `i:${edge.id}`]
    let source = `n:${edge.source}`
    for (const level of up) {
      if (!level.nodes.some((node) => node.id === out)) {
        level.nodes.push({ id: out, main: 0, cross: 0, pin: 'last' })
        level.steps.push({ id: out, source, target: out, label: null, out })
      }
      source = `g:${level.id}`
    }
    let target = `n:${edge.target}`
    for (const level of down) {
      level.nodes.push({ id: into, main: 0, cross: 0, pin: 'first' })
      level.steps.push({ id: into, source: into, target, label: null, into })
      target = `g:${level.id}`
    }
    top?.steps.push({ id: `e:${edge.id}`, source, target, label: edge.label && flowOf(top.direction, edge.label), out, into })
  }

  /** Lay out a level after those in it. */
  function arrange(id: string): void {
    const level = levels.get(id)
    if (!level) return
    for (const child of levels.values()) {
      if (child.parent !== id || child.id === ROOT) continue
      arrange(child.id)
      level.nodes.push({ id: `g:${child.id}`, ...flowOf(level.direction, child.size) })
    }
    const offset = (end: string, port: string | undefined): number => {
      const child = end.startsWith('g:') ? levels.get(end.slice(2)) : undefined
      return child && port ? portOffset(child, level.direction, port) : 0
    }
    const turns = (end: string, around: Direction): boolean => end.startsWith('g:') && levels.get(end.slice(2))?.direction !== around
    level.layout = layered(
      level.nodes,
      level.steps.map(({ out, into, ...step }) => ({
        ...step,
        sourceOffset: offset(step.source, out),
        targetOffset: offset(step.target, into),
        isFree: turns(step.source, level.direction) || turns(step.target, level.direction),
      })),
    )
    frame(level, levels.get(level.parent)?.direction ?? level.direction)
  }

  /** Put a level at its place, and then those in it. */
  function settle(id: string, corner: Point): void {
    const level = levels.get(id)
    if (!level) return
    level.corner = corner
    for (const child of levels.values()) {
      if (child.parent === id && child.id !== ROOT) settle(child.id, placed(level, level.layout.nodes.get(`g:${child.id}`) ?? { main: 0, cross: 0 }))
    }
  }

  const nodes = new Map<string, Box>()
  for (const node of graph.nodes) {
    const level = levels.get(node.group)
    const at = level?.layout.nodes.get(`n:${node.id}`)
    if (level && at) nodes.set(node.id, { ...placed(level, at), width: node.width, height: node.height })
  }
  const edges = new Map(ways.map((way) => [way.edge.id, route(way)]))
  const groups = new Map<string, PlacedGroup>()
  for (const level of levels.values()) {
    if (level.id !== ROOT) groups.set(level.id, { ...level.corner, ...level.size, title: titlePlace(level, levels.get(level.parent)) })
  }
  const root = levels.get(ROOT)
  return { nodes, groups, edges, size: root?.size ?? { width: 0, height: 0 } }

  function route({ edge, top, up, down }: Way): PlacedEdge {
    const runs: Run[] = []
    const add = (direction: Direction, points: Point[]): void => {
      const last = runs.at(-1)
      if (last?.direction === direction) last.points.push(...points)
      else runs.push({ direction, points: [...points] })
    }
    const own = (level: Level, id: string): Point[] => (level.layout.edges.get(id)?.points ?? []).map((at) => placed(level, at))
    const turn = (level: Level, port: string): Point | null => {
      const [corridor, at] = [level.corridors.get(port), level.layout.nodes.get(port)]
      if (corridor === undefined || !at) return null
      const across = placed(level, at)
      return level.direction === 'right' ? { x: level.corner.x + corridor, y: across.y } : { x: across.x, y: level.corner.y + corridor }
    }
    const around = (level: Level): Direction => levels.get(level.parent)?.direction ?? level.direction
    for (const level of up) {
      add(level.direction, own(level, `o:${edge.port}`))
      const corner = turn(level, `o:${edge.port}`)
      if (corner) {
        add(level.direction, [corner])
        add(around(level), [corner])
      }
    }
    if (top) add(top.direction, own(top, `e:${edge.id}`))
    for (const level of down.toReversed()) {
      const corner = turn(level, `i:${edge.id}`)
      if (corner) {
        add(around(level), [corner])
        add(level.direction, [corner])
      }
      add(level.direction, own(level, `i:${edge.id}`))
    }
    const label = top?.layout.edges.get(`e:${edge.id}`)?.label
    return { runs, points: runs.flatMap((run) => run.points), label: top && label ? placed(top, label) : null }
  }
}

function levelsOf(graph: CompoundGraph, inner: Direction, outer: Direction): Map<string, Level> {
  const blank = { nodes: [], steps: [], layout: { nodes: new Map(), edges: new Map(), size: { main: 0, cross: 0 } }, size: { width: 0, height: 0 } }
  const parents = new Set(graph.groups.map((group) => group.parent ?? ROOT))
  const levels = new Map<string, Level>()
  for (const { id, hull, title, head, parent } of [{ id: ROOT, hull: false, title: 0, head: 0 }, ...graph.groups] as CompoundGraph['groups']) {
    const direction = parents.has(id) ? outer : inner
    const pad = { x: 0, y: 0 }
    levels.set(id, { ...blank, nodes: [], steps: [], id, isHull: hull, titleWidth: title, head, parent: parent ?? ROOT, direction, pad, corner: { x: 0, y: 0 }, corridors: new Map() })
  }
  for (const node of graph.nodes) {
    const level = levels.get(node.group)
    level?.nodes.push({ id: `n:${node.id}`, ...flowOf(level.direction, node) })
  }
  return levels
}

/** The box around a level's content, with corridors where the layout around it flows in the other direction. */
function frame(level: Level, around: Direction): void {
  const { layout, isHull, direction } = level
  const content = pointOf(direction, layout.size)
  const isRight = direction === 'right'
  const ports = (side: string): string[] =>
    level.nodes
      .filter((node) => node.pin && node.id.startsWith(side))
      .map((node) => node.id)
      .sort((a, b) => (layout.nodes.get(a)?.cross ?? 0) - (layout.nodes.get(b)?.cross ?? 0))
  const [into, out] = direction === around ? [[], []] : [ports('i:'), ports('o:')]
  const room = (count: number): number => (count ? (count + 1) * CORRIDOR : 0)
  const [side, top] = isHull ? [SIDE, level.head] : [0, 0]
  const before = { x: side + (isRight ? room(into.length) : 0), y: top + (isRight ? 0 : room(into.length)) }
  const after = { x: side + (isRight ? room(out.length) : 0), y: side + (isRight ? 0 : room(out.length)) }
  const wide = before.x + content.x + after.x
  const width = Math.max(wide, isHull ? level.titleWidth + 2 * SIDE : 0)
  level.pad = { x: before.x + (width - wide) / 2, y: before.y }
  level.size = { width, height: before.y + content.y + after.y }
  const [start, end] = isRight ? [level.pad.x, level.pad.x + content.x] : [level.pad.y, level.pad.y + content.y]
  // In this order, lines in the corridors do not cross.
  into.forEach((port, at) => level.corridors.set(port, start - (at + 1) * CORRIDOR))
  out.forEach((port, at) => level.corridors.set(port, end + (out.length - at) * CORRIDOR))
}

/** Where a port is on its hull, across the flow around it, relative to the center. */
function portOffset(level: Level, around: Direction, port: string): number {
  const box = flowOf(around, level.size).cross
  const corridor = level.corridors.get(port)
  const own = level.direction === 'right' ? level.pad.y : level.pad.x
  return (corridor ?? (level.layout.nodes.get(port)?.cross ?? 0) + own) - box / 2
}

function placed(level: Level, at: FlowPoint): Point {
  const { x, y } = pointOf(level.direction, at)
  return { x: level.corner.x + level.pad.x + x, y: level.corner.y + level.pad.y + y }
}

/** The first part of the upper side that is wide enough for the title and that no line enters through; else the widest one. */
function titlePlace(level: Level, around: Level | undefined): { x: number; width: number } {
  const { x, width } = { x: level.corner.x, width: level.size.width }
  const entries = level.nodes.filter((node) => node.pin === 'first').map((node) => width / 2 + portOffset(level, 'down', node.id))
  const crossed = around?.direction === 'down' ? entries.sort((a, b) => a - b) : []
  const ends = [2, ...crossed, width - 2]
  const parts = ends.slice(1).map((end, at) => ({ x: x + (ends[at] ?? 0) + 10, width: end - (ends[at] ?? 0) - 20 }))
  const widest = parts.reduce((best, part) => (part.width > best.width ? part : best), parts[0] ?? { x, width })
  return parts.find((part) => part.width >= level.titleWidth) ?? widest
}
