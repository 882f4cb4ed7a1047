/** The position of each cell across the flow: as near as possible to its neighbors, without overlaps. */

import type { Cell, Cells, Link } from './cells'
import { neighbors } from './ordering'

const NODE_SPACE = 28
const LINE_SPACE = 12
const ROUNDS = 10

function weight(a: Cell, b: Cell): number {
  if (a.node < 0 && b.node < 0) return 8
  return a.node < 0 || b.node < 0 ? 3 : 1
}

function separation(a: Cell, b: Cell): number {
  const space = a.node >= 0 && b.node >= 0 && a.cross > 0 && b.cross > 0 ? NODE_SPACE : LINE_SPACE
  return (a.cross + b.cross) / 2 + space
}

/**
 * Return the positions nearest to the desired ones (least weighted squares) that keep the order and the distances:
 * isotonic regression, by pooling neighbors that would overlap.
 */
export function nearestInOrder(wishes: readonly number[], weights: readonly number[], distances: readonly number[]): number[] {
  const pools: { mean: number; weight: number; count: number }[] = []
  let shift = 0
  wishes.forEach((wish, at) => {
    shift += at ? (distances[at - 1] ?? 0) : 0
    let pool = { mean: wish - shift, weight: weights[at] ?? 1, count: 1 }
    for (let last = pools.at(-1); last && last.mean >= pool.mean; last = pools.at(-1)) {
      const total = last.weight + pool.weight
      pool = { mean: (last.mean * last.weight + pool.mean * pool.weight) / total, weight: total, count: last.count + pool.count }
      pools.pop()
    }
    pools.push(pool)
  })
  const places: number[] = []
  shift = 0
  for (const pool of pools) {
    for (let member = 0; member < pool.count; member++) {
      shift += places.length ? (distances[places.length - 1] ?? 0) : 0
      places.push(pool.mean + shift)
    }
  }
  return places
}

/** Return the center of each cell across the flow; the smallest edge is at 0. */
export function crossCoordinates(graph: Cells, layers: readonly number[][]): Float64Array {
  const { before, after } = neighbors(graph)
  const at = new Float64Array(graph.cells.length)
  const distances = layers.map((layer) =>
    layer.slice(1).map((cell, i) => separation(cellOf(graph, layer[i] ?? 0), cellOf(graph, cell))),
  )
  layers.forEach((layer, number) => {
    let place = 0
    layer.forEach((cell, i) => (at[cell] = i ? (place += distances[number]?.[i - 1] ?? 0) : 0))
    layer.forEach((cell) => (at[cell] = (at[cell] ?? 0) - place / 2))
  })
  for (let round = 0; round < ROUNDS; round++) {
    const isDown = round % 2 === 0
    const isLast = round >= ROUNDS - 2
    for (let step = 0; step < layers.length; step++) {
      const number = isDown ? step : layers.length - 1 - step
      const layer = layers[number] ?? []
      const wishes = layer.map((cell) => wish(graph, at, cell, isDown || isLast ? before : null, !isDown || isLast ? after : null))
      const found = nearestInOrder(wishes.map((w) => w[0]), wishes.map((w) => w[1]), distances[number] ?? [])
      layer.forEach((cell, i) => (at[cell] = found[i] ?? 0))
    }
  }
  const start = graph.cells.reduce((low, cell, i) => Math.min(low, (at[i] ?? 0) - cell.cross / 2), Infinity)
  return at.map((place) => place - (Number.isFinite(start) ? start : 0))
}

function cellOf(graph: Cells, index: number): Cell {
  const cell = graph.cells[index]
  if (!cell) throw new Error(`there is no cell ${index}`)
  return cell
}

function wish(graph: Cells, at: Float64Array, index: number, before: Link[][] | null, after: Link[][] | null): [number, number] {
  const cell = cellOf(graph, index)
  let sum = 0
  let total = 0
  for (const link of before?.[index] ?? []) {
    const share = weight(cellOf(graph, link.from), cell)
    sum += share * ((at[link.from] ?? 0) + (link.isFree ? 0 : link.fromOffset - link.toOffset))
    total += share
  }
  for (const link of after?.[index] ?? []) {
    const share = weight(cell, cellOf(graph, link.to))
    sum += share * ((at[link.to] ?? 0) + (link.isFree ? 0 : link.toOffset - link.fromOffset))
    total += share
  }
  return total ? [sum / total, total] : [at[index] ?? 0, 0.05]
}
