/** A layered layout of boxes and labeled edges, along `main` and across it. Pure: the same graph has the same layout. */

import { buildCells, type Cells, type LayerEdge, type LayerNode } from './cells'
import { crossCoordinates } from './coordinates'
import { orderLayers } from './ordering'

export interface FlowPoint {
  main: number
  cross: number
}

export interface LayeredEdge {
  points: FlowPoint[]
  /** The center of its label. */
  label: FlowPoint | null
}

export interface Layered {
  /** The corner of each node with the smallest coordinates. */
  nodes: Map<string, FlowPoint>
  edges: Map<string, LayeredEdge>
  size: FlowPoint
}

const GAP = 20

/** The start and the thickness of each layer along the flow. Gaps with steep edges are wider, so that curves stay readable. */
function layerStarts(graph: Cells, at: Float64Array): { start: number[]; end: number[]; size: number } {
  const thickness = graph.layers.map((layer) => Math.max(0, ...layer.map((cell) => graph.cells[cell]?.main ?? 0)))
  const steepest = graph.layers.map(() => 0)
  for (const link of graph.links) {
    const layer = graph.cells[link.from]?.layer ?? 0
    const rise = Math.abs((at[link.from] ?? 0) + link.fromOffset - (at[link.to] ?? 0) - link.toOffset)
    steepest[layer] = Math.max(steepest[layer] ?? 0, rise)
  }
  const start: number[] = []
  const end: number[] = []
  let place = 0
  thickness.forEach((thick, layer) => {
    start.push(place)
    end.push(place + thick)
    place += thick + (layer < thickness.length - 1 ? GAP + Math.min(60, (steepest[layer] ?? 0) * 0.1) : 0)
  })
  return { start, end, size: place }
}

export function layered(nodes: readonly LayerNode[], edges: readonly LayerEdge[]): Layered {
  const graph = buildCells(nodes, edges)
  graph.layers = orderLayers(graph)
  const at = crossCoordinates(graph, graph.layers)
  const { start, end, size } = layerStarts(graph, at)
  const corners = new Map<string, FlowPoint>()
  const feeds = new Set(graph.links.map((link) => link.from))
  const reads = new Set(graph.links.map((link) => link.to))
  nodes.forEach((node, index) => {
    const layer = graph.cells[index]?.layer ?? 0
    const slack = (end[layer] ?? 0) - (start[layer] ?? 0) - node.main
    // Nodes without inputs are placed near their readers, nodes without readers near their inputs.
    const isEarly = node.pin === 'first' || (node.pin !== 'last' && !feeds.has(index))
    const isLate = node.pin === 'last' || (node.pin !== 'first' && !reads.has(index) && feeds.has(index))
    const shift = isEarly ? 0 : isLate ? slack : slack / 2
    corners.set(node.id, { main: (start[layer] ?? 0) + shift, cross: (at[index] ?? 0) - node.cross / 2 })
  })
  const routes = new Map<string, LayeredEdge>()
  edges.forEach((edge, number) => {
    const path = graph.paths[number] ?? []
    const isReversed = graph.reversed[number] ?? false
    const first = isReversed ? (edge.targetOffset ?? 0) : (edge.sourceOffset ?? 0)
    const last = isReversed ? (edge.sourceOffset ?? 0) : (edge.targetOffset ?? 0)
    let label: FlowPoint | null = null
    const points: FlowPoint[] = []
    path.forEach((index, step) => {
      const cell = graph.cells[index]
      if (!cell) return
      const layer = cell.layer
      const [from, to] = [start[layer] ?? 0, end[layer] ?? 0]
      const cross = at[index] ?? 0
      const node = cell.node >= 0 ? nodes[cell.node] : undefined
      const corner = node ? (corners.get(node.id)?.main ?? from) : from
      if (step === 0) points.push({ main: corner + cell.main, cross: cross + first }, { main: to, cross: cross + first })
      else if (step === path.length - 1) points.push({ main: from, cross: cross + last }, { main: corner, cross: cross + last })
      // Nothing is between two layers of nodes without labels: one curve is enough.
      else if (cell.isLabel || layer % 2 === 0 || from < to) points.push({ main: from, cross }, { main: to, cross })
      if (cell.isLabel) label = { main: (from + to) / 2, cross }
    })
    routes.set(edge.id, { points: isReversed ? points.reverse() : points, label })
  })
  // Not Math.max(...): with long edges, there are more cells than a call can have arguments.
  const cross = graph.cells.reduce((most, cell, index) => Math.max(most, (at[index] ?? 0) + cell.cross / 2), 0)
  return { nodes: corners, edges: routes, size: { main: size, cross } }
}
