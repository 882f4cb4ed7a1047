import { expect, it } from 'vitest'
import type { Batch } from '../src/documents'
import { batchColumns } from '../src/model/batches'

const plain: Batch = { number: 7, rows_in: null, rows_out: 1200, late: 0, watermark: null, state_rows: null, state_bytes: null, behind: null, waited: null, seconds: 1.25 }
const full: Batch = { ...plain, number: 8, rows_in: 0, late: 3, watermark: '2024-01-01T00:22:00.000Z', state_rows: 5, state_bytes: 2000, behind: 0, waited: 90 }

function table(batches: Batch[]): string[][] {
  const columns = batchColumns(batches)
  return [columns.map(({ name }) => name), ...batches.map((batch) => columns.map(({ words }) => words(batch)))]
}

it('shows of a stream what it has', () => {
  expect(table([plain])).toEqual([
    ['batch', 'rows out', 'time'],
    ['7', '1,200', '1.3 s'],
  ])
})

it('shows what one batch has, and a dash where another has none', () => {
  expect(table([plain, full])).toEqual([
    ['batch', 'rows in', 'rows out', 'late', 'watermark', 'state rows', 'state', 'behind', 'waited', 'time'],
    ['7', '–', '1,200', '0', '–', '–', '–', '–', '–', '1.3 s'],
    ['8', '0', '1,200', '3', '2024-01-01 00:22:00', '5', '2.0 kB', '0', '1 min 30 s', '1.3 s'],
  ])
})
