import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { madeUpRows } from '../dev/fixtures'
import { captionWords, cutWords, isNumber } from '../src/model/rows'
import { RowTable } from '../src/ui/Rows'

describe('rows of a staged result', () => {
  it('has numbers on the right, and what only sounds like one on the left', () => {
    expect(['byte', 'short', 'integer', 'long', 'float', 'double', 'decimal(10,2)'].every(isNumber)).toBe(true)
    expect(['string', 'boolean', 'date', 'timestamp', 'array<long>', 'map<string,double>', 'interval day to second'].some(isNumber)).toBe(false)
  })
  it('says of how many rows these are the first', () => {
    const sample = madeUpRows()
    expect(captionWords(sample)).toBe('The first 40 of 336,776 rows, epoch 1')
    expect(captionWords({ ...sample, rows: [['a']], rows_in_result: 1 })).toBe('1 row, epoch 1')
    expect(captionWords({ ...sample, rows: [], rows_in_result: 0 })).toBe('0 rows, epoch 1')
    expect(captionWords({ ...sample, rows: [] })).toBe('The first 0 of 336,776 rows, epoch 1')
  })
  it('says how much of a value is not shown', () => {
    expect(cutWords({ text: 'a', bytes: 20_000 })).toBe('… of 20 kB')
    expect(cutWords({ text: '[1', bytes: null })).toBe('… and more')
  })
  it('shows cells as text, and null as no text', () => {
    const html = renderToStaticMarkup(createElement(RowTable, { sample: madeUpRows() }))
    expect(html).toContain('&lt;b&gt;bold&lt;/b&gt;&lt;img')
    expect(html).not.toContain('<img')
    expect(html).toContain('<td>null</td>')
    expect(html).toContain('<td class="number"><span class="tag null">NULL')
    expect(html).toContain('<td></td>')
  })
})
