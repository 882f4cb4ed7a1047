import type { Attempt, ExchangeRun, StageRun, ViewPlan } from '../documents'
import { bytesWords, counted, figure, rowsWords } from './words'

/** What ran of a vertex, one line each: its tasks and stages, then the exchanges before it. Empty if it is not known. */
export function actualWords(attempt: Attempt | null, plan: ViewPlan, vertex: string): string[] {
  const actual = attempt?.actual
  if (!actual) return []
  const run = actual.vertices.find((found) => found.vertex_id === vertex)
  const name = (id: string): string => plan.vertices.find((found) => found.id === id)?.name ?? id
  const lines: string[] = []
  if (run && run.stage_ids.length > 0) {
    const shared = actual.vertices.filter((other) => other.vertex_id !== vertex && other.stage_ids.some((id) => run.stage_ids.includes(id)))
    const tasks = run.parallelism === null ? 'an unknown number of tasks' : counted(run.parallelism, 'task')
    const splits = run.splits === null ? '' : `, ${counted(run.splits, 'split')}`
    lines.push(`ran in ${tasks}${splits} · ${run.stage_ids.map((id) => `stage ${id}`).join(', ')}${shared.length > 0 ? `, shared with ${shared.map((other) => name(other.vertex_id)).join(', ')}` : ''}`)
    lines.push(...actual.stages.filter((stage) => run.stage_ids.includes(stage.stage_id)).map(stageWords))
  } else {
    lines.push('where it ran is not known: Spark merged it into other operators')
  }
  return [...lines, ...actual.exchanges.filter((exchange) => exchange.target === vertex).map((exchange) => exchangeWords(exchange, vertex, name))]
}

function stageWords(stage: StageRun): string {
  const amounts: [string, number, number][] = [
    ['read', stage.input_rows, stage.input_bytes],
    ['from exchanges', stage.exchange_rows_read, stage.exchange_bytes_read],
    ['to exchanges', stage.exchange_rows_written, stage.exchange_bytes_written],
    ['written', stage.output_rows, stage.output_bytes],
  ]
  const moved = amounts.filter(([, rows, bytes]) => rows > 0 || bytes > 0).map(([words, rows, bytes]) => `${words} ${rowsWords(rows)} rows, ${bytesWords(bytes)}`)
  const spilled = stage.disk_spilled > 0 ? [`spilled ${bytesWords(stage.disk_spilled)}`] : []
  return [`stage ${stage.stage_id}: ${counted(stage.tasks, 'task')}`, ...moved, ...spilled].join(' · ')
}

function exchangeWords(exchange: ExchangeRun, vertex: string, name: (id: string) => string): string {
  const by = exchange.columns.length > 0 ? ` by ${exchange.columns.join(', ')}` : ''
  const from = exchange.source !== null && exchange.source !== vertex ? ` from ${name(exchange.source)}` : ''
  const parts = [`exchange: ${exchange.kind}${by}${from}`]
  if (exchange.written_by !== null && exchange.read_by !== null) parts.push(`stage ${exchange.written_by} → ${exchange.read_by}`)
  if (exchange.rows !== null) parts.push(`${rowsWords(exchange.rows)} rows, ${bytesWords(exchange.bytes)}`)
  if (exchange.partitions !== null && exchange.tasks !== null) {
    const joined = exchange.joined ? `, ${figure(exchange.joined)} joined` : ''
    parts.push(`${counted(exchange.partitions, 'partition')} in ${counted(exchange.tasks, 'task')}${joined}${exchange.split ? `, ${figure(exchange.split)} split` : ''}`)
  }
  const spread = exchange.bytes_by_task
  if (spread && exchange.tasks !== 1) parts.push(`by task ${bytesWords(spread.minimum)} / ${bytesWords(spread.median)} / ${bytesWords(spread.maximum)}${spread.largest_task === null ? '' : ` (task ${spread.largest_task})`}`)
  return parts.join(' · ')
}
