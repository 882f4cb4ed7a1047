/** The width of text, to reserve space for it and to truncate it: measured letter by letter, or estimated if there is no screen. */

const NARROW = /[iljtf.,:;'|!()[\]{} ]/
const WIDE = /[mwMW@%A-Z→—]/
const MEASURED_SIZE = 100

const measured = { regular: new Map<string, number>(), bold: new Map<string, number>() }
const context = typeof document === 'undefined' ? null : document.createElement('canvas').getContext('2d')

function letterWidth(letter: string, isBold: boolean): number {
  const known = measured[isBold ? 'bold' : 'regular']
  let width = known.get(letter)
  if (width === undefined) {
    if (context) {
      context.font = `${isBold ? '600 ' : ''}${MEASURED_SIZE}px system-ui, sans-serif`
      width = context.measureText(letter).width / MEASURED_SIZE
    } else width = NARROW.test(letter) ? 0.34 : WIDE.test(letter) ? 0.74 : letter > '\u2e80' ? 1 : 0.57
    known.set(letter, width)
  }
  return width
}

export function textWidth(text: string, size: number, isBold = false): number {
  let units = 0
  for (const letter of text) units += letterWidth(letter, isBold)
  return units * size
}

/** Break text into a limited number of lines, after spaces, else after underscores. An arrow stays at the end of its line; the last line is truncated. */
export function wrap(text: string, width: number, size: number, most: number, isBold = false): string[] {
  const lines: string[] = []
  let rest = text.replace(/\s+/g, ' ').trim()
  while (rest && lines.length < most - 1 && textWidth(rest, size, isBold) > width) {
    let kept = 0
    let used = 0
    const breaks = { space: 0, underscore: 0 }
    for (const letter of rest) {
      used += letterWidth(letter, isBold) * size
      if (used > width) {
        if (letter === ' ' && rest[kept + 1] !== '→') breaks.space = kept
        break
      }
      kept += letter.length
      if (letter === ' ' && rest[kept] !== '→') breaks.space = kept
      if (letter === '_') breaks.underscore = kept
    }
    const isEarly = breaks.space < 0.4 * kept
    const end = (isEarly ? breaks.underscore : breaks.space) || breaks.space || Math.max(1, kept)
    lines.push(rest.slice(0, end).trimEnd())
    rest = rest.slice(end).trimStart()
  }
  if (rest) lines.push(fit(rest, width, size, isBold))
  return lines
}

/** Truncate text to a width, with an ellipsis. */
export function fit(text: string, width: number, size: number, isBold = false): string {
  const line = text.replace(/\s+/g, ' ')
  if (textWidth(line, size, isBold) <= width) return line
  let left = width - textWidth('…', size, isBold)
  let kept = ''
  for (const letter of line) {
    left -= letterWidth(letter, isBold) * size
    if (left < 0) break
    kept += letter
  }
  return `${kept.trimEnd()}…`
}

/** The first of some parts that fit into a width, joined; at least the first one, truncated. */
export function fitParts(text: string, width: number, size: number, isBold = false): string {
  const parts = text.split(' · ')
  while (parts.length > 1 && textWidth(parts.join(' · '), size, isBold) > width) parts.pop()
  return fit(parts.join(' · '), width, size, isBold)
}
