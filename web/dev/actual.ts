import type { ActualExecution, StageRun } from '../src/documents'

/** Each vertex in a stage of its own, with an exchange by day before it, but the last: it shares the one before. */
export function madeUpActual(vertices: string[]): ActualExecution {
  const stages = vertices.map((_, index) => (index > 0 && index === vertices.length - 1 ? index - 1 : index))
  return {
    vertices: vertices.map((vertex_id, index) => ({ vertex_id, parallelism: 4, splits: index === 0 ? 8 : null, stage_ids: [stages[index] ?? 0] })),
    stages: [...new Set(stages)].map((stage_id) => ({ ...NO_STAGE, stage_id, exchange_rows_read: stage_id > 0 ? 1200 : 0, exchange_bytes_read: stage_id > 0 ? 24_000 : 0, disk_spilled: stage_id === 2 ? 7_000_000 : 0 })),
    exchanges: vertices.slice(1, -1).map((target, index) => ({
      source: vertices[index] ?? null,
      target,
      kind: 'hash',
      columns: ['day'],
      written_by: index,
      read_by: index + 1,
      rows: 1200,
      bytes: 24_000,
      partitions: 200,
      tasks: 4,
      joined: 200,
      split: 0,
      bytes_by_task: { minimum: 1000, median: 2000, maximum: 19_000, largest_task: 3 },
    })),
    notes: [],
  }
}

const NO_STAGE: StageRun = {
  stage_id: 0,
  attempts: 1,
  tasks: 4,
  failed_tasks: 0,
  run_milliseconds: 900,
  input_rows: 0,
  input_bytes: 0,
  output_rows: 0,
  output_bytes: 0,
  exchange_rows_read: 0,
  exchange_bytes_read: 0,
  exchange_rows_written: 0,
  exchange_bytes_written: 0,
  memory_spilled: 0,
  disk_spilled: 0,
  rows_by_task: null,
  milliseconds: null,
}
