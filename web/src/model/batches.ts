import type { Batch } from '../documents'
import { bytesWords, figure, rowsWords, secondsWords } from './words'

/** A column of the table of batches; `isEmpty`: no batch has anything to say in it. */
export interface BatchColumn {
  name: string
  title: string
  words: (batch: Batch) => string
  isEmpty?: (batch: Batch) => boolean
}

const COLUMNS: BatchColumn[] = [
  { name: 'batch', title: 'The number of the batch in its stream', words: (batch) => figure(batch.number) },
  { name: 'rows in', title: 'Rows that sources had for it', words: (batch) => rowsWords(batch.rows_in), isEmpty: (batch) => batch.rows_in === null },
  { name: 'rows out', title: 'Rows that its sinks have published', words: (batch) => rowsWords(batch.rows_out) },
  { name: 'late', title: 'At least so many rows were left out: the watermark had passed their time', words: (batch) => figure(batch.late), isEmpty: (batch) => batch.late === 0 },
  { name: 'watermark', title: 'In UTC', words: (batch) => watermarkWords(batch.watermark), isEmpty: (batch) => batch.watermark === null },
  { name: 'state rows', title: 'Rows that the stream remembers behind it', words: (batch) => rowsWords(batch.state_rows), isEmpty: (batch) => batch.state_rows === null },
  { name: 'state', title: 'Memory of these rows', words: (batch) => bytesWords(batch.state_bytes), isEmpty: (batch) => batch.state_bytes === null },
  { name: 'behind', title: 'Records that were not read by then, in the partition that is most behind', words: (batch) => rowsWords(batch.behind), isEmpty: (batch) => batch.behind === null },
  { name: 'waited', title: 'How long its oldest file had been there when it began', words: (batch) => secondsWords(batch.waited), isEmpty: (batch) => batch.waited === null },
  { name: 'time', title: 'How long it took, with its publication', words: (batch) => secondsWords(batch.seconds) },
]

/** The columns in which at least one batch has something to say. */
export function batchColumns(batches: Batch[]): BatchColumn[] {
  return COLUMNS.filter(({ isEmpty }) => !isEmpty || !batches.every(isEmpty))
}

/** "2024-01-01T00:22:00.000Z" → "2024-01-01 00:22:00". */
function watermarkWords(watermark: string | null): string {
  return watermark === null ? '–' : watermark.slice(0, 19).replace('T', ' ')
}
