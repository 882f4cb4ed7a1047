/** How wide text is, without a browser: good enough to leave room, and to cut what does not fit. */

const NARROW = /[iljtf.,:;'|!()[\]{} ]/
const WIDE = /[mwMW@%A-Z→—]/

export function textWidth(text: string, size: number): number {
  let units = 0
  for (const letter of text) units += NARROW.test(letter) ? 0.34 : WIDE.test(letter) ? 0.74 : letter > '\u2e80' ? 1 : 0.57
  return units * size
}

/** Cut text to a width, with an ellipsis where something is cut. */
export function fit(text: string, width: number, size: number): string {
  const line = text.replace(/\s+/g, ' ')
  if (textWidth(line, size) <= width) return line
  let kept = ''
  for (const letter of line) {
    if (textWidth(`${kept}${letter}…`, size) > width) break
    kept += letter
  }
  return `${kept.trimEnd()}…`
}
