/**
 * A graph with hulls: the content of each hull is laid out separately, and then the hulls are laid out as boxes. An edge that
 * leaves a hull goes through one of its ports, so that lines never cross unrelated boxes.
 */

import type { LayerEdge, LayerNode } from './cells'
import { layered, type FlowPoint, type Layered } from './layered'

export type Direction = 'right' | 'down'

export interface Size {
  width: number
  height: number
}

export interface Point {
  x: number
  y: number
}

export interface Box extends Point, Size {}

export interface CompoundGraph {
  nodes: (Size & { id: string; group: string })[]
  /** Edges with the same port leave their hull as one line. */
  edges: { id: string; source: string; target: string; port: string; label: Size | null }[]
  groups: { id: string; hull: boolean; title: number }[]
}

export interface PlacedEdge {
  points: Point[]
  label: Point | null
}

export interface Placement {
  nodes: Map<string, Box>
  groups: Map<string, Box>
  edges: Map<string, PlacedEdge>
  size: Size
}

const SIDE = 16
const TITLE = 34

interface Inside {
  layout: Layered
  box: { main: number; cross: number }
  pad: FlowPoint
}

export function compound(graph: CompoundGraph, direction: Direction): Placement {
  const isRight = direction === 'right'
  const flow = (size: Size): { main: number; cross: number } =>
    isRight ? { main: size.width, cross: size.height } : { main: size.height, cross: size.width }
  const groupOf = new Map(graph.nodes.map((node) => [node.id, node.group]))
  const isInside = (edge: CompoundGraph['edges'][number]): boolean => groupOf.get(edge.source) === groupOf.get(edge.target)
  const nodes = new Map<string, LayerNode[]>(graph.groups.map((group) => [group.id, []]))
  const edges = new Map<string, LayerEdge[]>(graph.groups.map((group) => [group.id, []]))
  for (const node of graph.nodes) nodes.get(node.group)?.push({ id: `n:${node.id}`, ...flow(node) })
  for (const edge of graph.edges) {
    const [from, to] = [groupOf.get(edge.source) ?? '', groupOf.get(edge.target) ?? '']
    const [source, target] = [`n:${edge.source}`, `n:${edge.target}`]
    if (isInside(edge)) {
      edges.get(from)?.push({ id: `e:${edge.id}`, source, target, label: edge.label && flow(edge.label) })
      continue
    }
    const out = `o:${edge.port}`
    if (!nodes.get(from)?.some((node) => node.id === out)) {
      nodes.get(from)?.push({ id: out, main: 0, cross: 0, pin: 'last' })
      edges.get(from)?.push({ id: out, source, target: out, label: null })
    }
    nodes.get(to)?.push({ id: `i:${edge.id}`, main: 0, cross: 0, pin: 'first' })
    edges.get(to)?.push({ id: `i:${edge.id}`, source: `i:${edge.id}`, target, label: null })
  }
  const insides = new Map<string, Inside>()
  for (const group of graph.groups) {
    const layout = layered(nodes.get(group.id) ?? [], edges.get(group.id) ?? [])
    const size = isRight ? { width: layout.size.main, height: layout.size.cross } : { width: layout.size.cross, height: layout.size.main }
    const [left, top, bottom] = group.hull ? [SIDE, TITLE, SIDE] : [0, 0, 0]
    const wide = Math.max(size.width + 2 * left, group.hull ? group.title + 2 * SIDE : 0)
    const box = flow({ width: wide, height: size.height + top + bottom })
    const spare = (wide - size.width) / 2
    insides.set(group.id, { layout, box, pad: isRight ? { main: spare, cross: top } : { main: top, cross: spare } })
  }
  return compose(graph, groupOf, insides, outerLayout(graph, groupOf, insides, flow), isRight)
}

/** The hulls as boxes, and the edges between them, from port to port. */
function outerLayout(
  graph: CompoundGraph,
  groupOf: Map<string, string>,
  insides: Map<string, Inside>,
  flow: (size: Size) => { main: number; cross: number },
): Layered {
  const offset = (group: string, port: string): number => {
    const inside = insides.get(group)
    return inside ? (inside.layout.nodes.get(port)?.cross ?? 0) + inside.pad.cross - inside.box.cross / 2 : 0
  }
  const boxes = graph.groups.map((group) => ({ id: group.id, ...(insides.get(group.id)?.box ?? { main: 0, cross: 0 }) }))
  const between: LayerEdge[] = []
  for (const edge of graph.edges) {
    const [source, target] = [groupOf.get(edge.source) ?? '', groupOf.get(edge.target) ?? '']
    if (source === target) continue
    between.push({
      id: edge.id,
      source,
      target,
      label: edge.label && flow(edge.label),
      sourceOffset: offset(source, `o:${edge.port}`),
      targetOffset: offset(target, `i:${edge.id}`),
    })
  }
  return layered(boxes, between)
}

function compose(
  graph: CompoundGraph,
  groupOf: Map<string, string>,
  insides: Map<string, Inside>,
  outer: Layered,
  isRight: boolean,
): Placement {
  const point = ({ main, cross }: FlowPoint): Point => (isRight ? { x: main, y: cross } : { x: cross, y: main })
  const moved = (group: string, at: FlowPoint): FlowPoint => {
    const corner = outer.nodes.get(group) ?? { main: 0, cross: 0 }
    const pad = insides.get(group)?.pad ?? { main: 0, cross: 0 }
    return { main: corner.main + pad.main + at.main, cross: corner.cross + pad.cross + at.cross }
  }
  const inner = (group: string, id: string): FlowPoint[] =>
    (insides.get(group)?.layout.edges.get(id)?.points ?? []).map((at) => moved(group, at))
  const nodes = new Map<string, Box>()
  for (const node of graph.nodes) {
    const corner = insides.get(node.group)?.layout.nodes.get(`n:${node.id}`) ?? { main: 0, cross: 0 }
    nodes.set(node.id, { ...point(moved(node.group, corner)), width: node.width, height: node.height })
  }
  const groups = new Map<string, Box>()
  for (const group of graph.groups) {
    const box = insides.get(group.id)?.box ?? { main: 0, cross: 0 }
    const size = isRight ? { width: box.main, height: box.cross } : { width: box.cross, height: box.main }
    groups.set(group.id, { ...point(outer.nodes.get(group.id) ?? { main: 0, cross: 0 }), ...size })
  }
  const edges = new Map<string, PlacedEdge>()
  for (const edge of graph.edges) {
    const [from, to] = [groupOf.get(edge.source) ?? '', groupOf.get(edge.target) ?? '']
    if (from === to) {
      const route = insides.get(from)?.layout.edges.get(`e:${edge.id}`)
      const label = route?.label ? point(moved(from, route.label)) : null
      edges.set(edge.id, { points: (route?.points ?? []).map((at) => point(moved(from, at))), label })
      continue
    }
    const route = outer.edges.get(edge.id)
    const points = [...inner(from, `o:${edge.port}`), ...(route?.points ?? []), ...inner(to, `i:${edge.id}`)]
    edges.set(edge.id, { points: points.map(point), label: route?.label ? point(route.label) : null })
  }
  const size = isRight ? { width: outer.size.main, height: outer.size.cross } : { width: outer.size.cross, height: outer.size.main }
  return { nodes, groups, edges, size }
}

/** The line of an edge: straight through layers, curved between them. */
export function linePath(points: readonly Point[], direction: Direction): string {
  const [first, ...rest] = points
  if (!first) return ''
  const n = (value: number): string => (Math.round(value * 10) / 10).toString()
  let path = `M${n(first.x)} ${n(first.y)}`
  let from = first
  for (const to of rest) {
    const across = direction === 'right' ? to.y - from.y : to.x - from.x
    if (Math.abs(across) < 0.5) path += `L${n(to.x)} ${n(to.y)}`
    else if (direction === 'right') {
      const middle = n((from.x + to.x) / 2)
      path += `C${middle} ${n(from.y)} ${middle} ${n(to.y)} ${n(to.x)} ${n(to.y)}`
    } else {
      const middle = n((from.y + to.y) / 2)
      path += `C${n(from.x)} ${middle} ${n(to.x)} ${middle} ${n(to.x)} ${n(to.y)}`
    }
    from = to
  }
  return path
}
