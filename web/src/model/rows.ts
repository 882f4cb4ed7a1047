/** Rows of a staged result in words. */

import type { CutCell, RowSample } from '../documents'
import { bytesWords, counted, figure } from './words'

const NUMBERS = new Set(['byte', 'short', 'integer', 'long', 'float', 'double'])

/** Say whether a type of Spark's is a number, which people compare from the right. */
export function isNumber(type: string): boolean {
  return NUMBERS.has(type) || type.startsWith('decimal')
}

/** What stands behind the beginning of a long value. */
export function cutWords(cell: CutCell): string {
  return cell.bytes === null ? '… and more' : `… of ${bytesWords(cell.bytes)}`
}

export function captionWords(sample: RowSample): string {
  const shown = sample.rows.length
  const of = shown === sample.rows_in_result ? counted(shown, 'row') : `The first ${figure(shown)} of ${counted(sample.rows_in_result, 'row')}`
  return `${of}, epoch ${sample.epoch}`
}
