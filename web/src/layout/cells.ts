/** The graph for the layout: cells in layers, and links between neighboring layers only. */

export interface LayerNode {
  id: string
  /** Its size along the flow, and across it. */
  main: number
  cross: number
  /** Ports of a hull stay in its first or last layer. */
  pin?: 'first' | 'last'
}

export interface LayerEdge {
  id: string
  source: string
  target: string
  label: { main: number; cross: number } | null
  /** Where it leaves and enters, across the flow, relative to the center of the node. */
  sourceOffset?: number
  targetOffset?: number
  /** Whether its ends may be far apart across the flow: it draws its nodes toward each other by their centers. */
  isFree?: boolean
}

export interface Cell {
  layer: number
  main: number
  cross: number
  /** The index of its node; -1 for a bend or a label. */
  node: number
  isLabel: boolean
}

export interface Link {
  from: number
  to: number
  fromOffset: number
  toOffset: number
  isFree: boolean
}

export interface Cells {
  cells: Cell[]
  links: Link[]
  /** The cells of each layer, in order. */
  layers: number[][]
  /** For each edge: the cells it goes through, from its source to its target. */
  paths: number[][]
  /** Edges drawn against the flow, because they close a cycle. */
  reversed: boolean[]
}

type Ends = [source: number, target: number]

/** Edges that close a cycle, found depth first in the order of the nodes. */
export function backEdges(count: number, ends: readonly Ends[]): boolean[] {
  const out: number[][] = Array.from({ length: count }, () => [])
  ends.forEach(([source], edge) => out[source]?.push(edge))
  const state = new Uint8Array(count)
  const back = ends.map(([source, target]) => source === target)
  for (let root = 0; root < count; root++) {
    if (state[root]) continue
    const stack: { node: number; next: number }[] = [{ node: root, next: 0 }]
    state[root] = 1
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const edge = out[top.node]?.[top.next++]
      if (edge === undefined) {
        state[top.node] = 2
        stack.pop()
        continue
      }
      const target = ends[edge]?.[1] ?? 0
      if (state[target] === 1) back[edge] = true
      else if (!state[target]) {
        state[target] = 1
        stack.push({ node: target, next: 0 })
      }
    }
  }
  return back
}

/** Layers by longest paths; then nodes with more readers than inputs move next to their readers. */
export function ranks(nodes: readonly LayerNode[], ends: readonly Ends[]): number[] {
  const incoming: number[][] = nodes.map(() => [])
  const outgoing: number[][] = nodes.map(() => [])
  for (const [source, target] of ends) {
    incoming[target]?.push(source)
    outgoing[source]?.push(target)
  }
  const waits = incoming.map((sources) => sources.length)
  const order = nodes.map((_, node) => node).filter((node) => waits[node] === 0)
  const rank = nodes.map(() => 0)
  for (let at = 0; at < order.length; at++) {
    const node = order[at] ?? 0
    for (const target of outgoing[node] ?? []) {
      rank[target] = Math.max(rank[target] ?? 0, (rank[node] ?? 0) + 1)
      const left = (waits[target] ?? 0) - 1
      waits[target] = left
      if (left === 0) order.push(target)
    }
  }
  for (const node of order.reverse()) {
    const readers = outgoing[node] ?? []
    if (nodes[node]?.pin || !readers.length || readers.length < (incoming[node]?.length ?? 0)) continue
    rank[node] = Math.min(...readers.map((target) => rank[target] ?? 0)) - 1
  }
  const last = Math.max(0, ...rank)
  return rank.map((value, node) => (nodes[node]?.pin === 'last' ? last : nodes[node]?.pin === 'first' ? 0 : value))
}

/** Nodes are in even layers; odd layers are for labels. */
export function buildCells(nodes: readonly LayerNode[], edges: readonly LayerEdge[]): Cells {
  const index = new Map(nodes.map((node, at) => [node.id, at]))
  const found = edges.map((edge): Ends => [index.get(edge.source) ?? 0, index.get(edge.target) ?? 0])
  const reversed = backEdges(nodes.length, found)
  const ends = found.map(([a, b], edge): Ends => (reversed[edge] ? [b, a] : [a, b]))
  const rank = ranks(nodes, ends.filter(([a, b]) => a !== b))
  const layers: number[][] = Array.from({ length: 2 * Math.max(0, ...rank) + 1 }, () => [])
  const cells: Cell[] = []
  const links: Link[] = []
  const add = (cell: Cell): number => {
    layers[cell.layer]?.push(cells.length)
    return cells.push(cell) - 1
  }
  nodes.forEach((node, at) =>
    add({ layer: 2 * (rank[at] ?? 0), main: node.main, cross: node.cross, node: at, isLabel: false }),
  )
  const paths = edges.map((edge, at) => {
    const [source, target] = ends[at] ?? [0, 0]
    const path = [source]
    const [from, to] = [2 * (rank[source] ?? 0), 2 * (rank[target] ?? 0)]
    for (let layer = from + 1; layer < to; layer++) {
      const label = layer === from + 1 ? edge.label : null
      path.push(add({ layer, main: label?.main ?? 0, cross: label?.cross ?? 0, node: -1, isLabel: label !== null }))
    }
    if (source !== target) path.push(target)
    const [first, last] = reversed[at]
      ? [edge.targetOffset ?? 0, edge.sourceOffset ?? 0]
      : [edge.sourceOffset ?? 0, edge.targetOffset ?? 0]
    for (let step = 1; step < path.length; step++) {
      links.push({
        from: path[step - 1] ?? 0,
        to: path[step] ?? 0,
        fromOffset: step === 1 ? first : 0,
        toOffset: step === path.length - 1 ? last : 0,
        isFree: edge.isFree ?? false,
      })
    }
    return path
  })
  return { cells, links, layers, paths, reversed }
}
