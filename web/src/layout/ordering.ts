/** The order of the cells in each layer: barycenters, swept back and forth; the order with the fewest crossings wins. */

import type { Cells, Link } from './cells'

interface Neighbors {
  before: Link[][]
  after: Link[][]
}

export function neighbors(graph: Cells): Neighbors {
  const before: Link[][] = graph.cells.map(() => [])
  const after: Link[][] = graph.cells.map(() => [])
  for (const link of graph.links) {
    after[link.from]?.push(link)
    before[link.to]?.push(link)
  }
  return { before, after }
}

/** The number of crossings between each two layers, by a tree of counts. */
export function crossings(graph: Cells, layers: readonly number[][], place: Float64Array): number {
  const { after } = neighbors(graph)
  let total = 0
  for (let at = 0; at + 1 < layers.length; at++) {
    const width = (layers[at + 1]?.length ?? 0) + 1
    const tree = new Int32Array(width + 1)
    let seen = 0
    for (const cell of layers[at] ?? []) {
      const targets = (after[cell] ?? [])
        .toSorted((a, b) => a.fromOffset - b.fromOffset)
        .map((link) => place[link.to] ?? 0)
      for (const target of targets) {
        let notAfter = 0
        for (let i = target + 1; i > 0; i -= i & -i) notAfter += tree[i] ?? 0
        total += seen - notAfter
      }
      for (const target of targets) {
        for (let i = target + 1; i <= width; i += i & -i) tree[i] = (tree[i] ?? 0) + 1
        seen++
      }
    }
  }
  return total
}

function placed(layers: readonly number[][], place: Float64Array): void {
  for (const layer of layers) layer.forEach((cell, at) => (place[cell] = at))
}

/** The initial order is depth first, so that connected cells are near each other. */
function firstOrder(graph: Cells, after: Link[][]): number[][] {
  const layers: number[][] = graph.layers.map(() => [])
  const seen = new Uint8Array(graph.cells.length)
  for (const root of graph.layers.flat()) {
    const stack = [root]
    for (let cell = stack.pop(); cell !== undefined; cell = stack.pop()) {
      if (seen[cell]) continue
      seen[cell] = 1
      layers[graph.cells[cell]?.layer ?? 0]?.push(cell)
      for (const link of (after[cell] ?? []).toReversed()) stack.push(link.to)
    }
  }
  return layers
}

function sweep(graph: Cells, layers: number[][], place: Float64Array, links: Link[][], isDown: boolean): void {
  const key = new Float64Array(graph.cells.length)
  const start = isDown ? 1 : layers.length - 2
  for (let at = start; isDown ? at < layers.length : at >= 0; at += isDown ? 1 : -1) {
    const layer = layers[at] ?? []
    for (const cell of layer) {
      const found = links[cell] ?? []
      let sum = 0
      for (const link of found) {
        const other = isDown ? link.from : link.to
        const offset = isDown ? link.fromOffset : link.toOffset
        const size = graph.cells[other]?.cross ?? 0
        sum += (place[other] ?? 0) + (size > 0 ? offset / size : 0)
      }
      key[cell] = found.length ? sum / found.length : (place[cell] ?? 0)
    }
    layer.sort((a, b) => (key[a] ?? 0) - (key[b] ?? 0) || (place[a] ?? 0) - (place[b] ?? 0))
    layer.forEach((cell, position) => (place[cell] = position))
  }
}

/** Return the layers in the best order found. */
export function orderLayers(graph: Cells): number[][] {
  const { before, after } = neighbors(graph)
  const layers = firstOrder(graph, after)
  const place = new Float64Array(graph.cells.length)
  placed(layers, place)
  let best = layers.map((layer) => [...layer])
  let fewest = crossings(graph, layers, place)
  const rounds = graph.cells.length > 8000 ? 4 : 10
  for (let round = 0; round < rounds && fewest > 0; round++) {
    const isDown = round % 2 === 0
    sweep(graph, layers, place, isDown ? before : after, isDown)
    const count = crossings(graph, layers, place)
    if (count < fewest) {
      fewest = count
      best = layers.map((layer) => [...layer])
    }
  }
  return best
}
