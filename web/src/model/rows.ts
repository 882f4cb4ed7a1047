/** Rows of a staged result as text. */

import type { CutCell, RowSample } from '../documents'
import { bytesWords, counted, figure } from './words'

const NUMBERS = new Set(['byte', 'short', 'integer', 'long', 'float', 'double'])

/** Whether a Spark type is numeric. Numbers are aligned right. */
export function isNumber(type: string): boolean {
  return NUMBERS.has(type) || type.startsWith('decimal')
}

/** The text after the beginning of a long value. */
export function cutWords(cell: CutCell): string {
  return cell.bytes === null ? '… and more' : `… of ${bytesWords(cell.bytes)}`
}

export function captionWords(sample: RowSample): string {
  const shown = sample.rows.length
  const of = shown === sample.rows_in_result ? counted(shown, 'row') : `The first ${figure(shown)} of ${counted(sample.rows_in_result, 'row')}`
  return `${of}, epoch ${sample.epoch}`
}
