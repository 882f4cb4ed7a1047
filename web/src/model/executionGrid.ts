/** Flink's ExecutionGraph as strips of cells, one cell for each subtask. */

import type { ViewPlan } from '../documents'

export interface GridSize {
  cell: number
  columns: number
  rows: number
}

/** The largest cells that fit: 4,000 subtasks take ten rows of small cells. */
export function gridSize(subtasks: number, width: number): GridSize {
  const cell = subtasks <= 64 ? 18 : subtasks <= 512 ? 12 : 7
  const columns = Math.max(1, Math.min(subtasks, Math.floor(width / cell)))
  return { cell, columns, rows: Math.ceil(subtasks / columns) }
}

export function subtaskAt(size: GridSize, subtasks: number, x: number, y: number): number | null {
  const [column, row] = [Math.floor(x / size.cell), Math.floor(y / size.cell)]
  const subtask = row * size.columns + column
  return column < 0 || column >= size.columns || row < 0 || subtask >= subtasks ? null : subtask
}

/** The number of input partitions that one subtask reads, as Flink connects them. */
export function connections(plan: ViewPlan, vertex: string): string[] {
  const parallelism = new Map(plan.vertices.map((found) => [found.id, found]))
  return plan.edges
    .filter((edge) => edge.target === vertex)
    .map((edge) => {
      const source = parallelism.get(edge.source)
      const [from, to] = [source?.parallelism ?? null, parallelism.get(vertex)?.parallelism ?? null]
      if (from === null || to === null) return `${source?.name ?? edge.source}: ${edge.distribution}, connections are decided at run time`
      const isPlanned = !source?.parallelism_configured || !parallelism.get(vertex)?.parallelism_configured
      const count = edge.distribution === 'ALL_TO_ALL' ? from * to : Math.max(from, to)
      return `${source?.name ?? edge.source}: ${edge.distribution}, ${from} → ${to}, ${count} ${count === 1 ? 'connection' : 'connections'}${isPlanned && count > 1 ? ' if Spark keeps to parallelism.default' : ''}`
    })
}
