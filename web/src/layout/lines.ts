/** The line of an edge: straight through layers, curved between them, with a rounded corner where it turns. */

import type { Direction } from './compound'

export interface Point {
  x: number
  y: number
}

/** A part of a line that goes in one direction; the next one begins where it ends. */
export interface Run {
  direction: Direction
  points: Point[]
}

const ROUND = 8

const text = (value: number): string => (Math.round(value * 10) / 10).toString()

export function linePath(runs: readonly Run[]): string {
  let path = ''
  runs.forEach((run, at) => {
    const points = [...run.points]
    if (at > 0) points[0] = toward(points[0], points[1])
    if (at < runs.length - 1) points[points.length - 1] = toward(points.at(-1), points.at(-2))
    const [first] = points
    const corner = run.points[0]
    if (!first || !corner) return
    path += at ? `Q${text(corner.x)} ${text(corner.y)} ${text(first.x)} ${text(first.y)}` : `M${text(first.x)} ${text(first.y)}`
    path += runPath(points, run.direction)
  })
  return path
}

/** The point at which the rounded corner at `from` ends. */
function toward(from: Point | undefined, to: Point | undefined): Point {
  if (!from || !to) return from ?? { x: 0, y: 0 }
  const length = Math.hypot(to.x - from.x, to.y - from.y)
  const share = length ? Math.min(ROUND, length / 2) / length : 0
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share }
}

function runPath(points: readonly Point[], direction: Direction): string {
  let path = ''
  points.slice(1).forEach((to, at) => {
    const from = points[at] ?? to
    const across = direction === 'right' ? to.y - from.y : to.x - from.x
    if (Math.abs(across) < 0.5) path += `L${text(to.x)} ${text(to.y)}`
    else if (direction === 'right') {
      const middle = text((from.x + to.x) / 2)
      path += `C${middle} ${text(from.y)} ${middle} ${text(to.y)} ${text(to.x)} ${text(to.y)}`
    } else {
      const middle = text((from.y + to.y) / 2)
      path += `C${text(from.x)} ${middle} ${text(to.x)} ${middle} ${text(to.x)} ${text(to.y)}`
    }
  })
  return path
}
