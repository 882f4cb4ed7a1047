import { describe, expect, it } from 'vitest'
import { madeUpPlan, madeUpRun } from '../dev/fixtures'
import { mermaidText } from '../src/export/mermaid'
import { movedGlyph } from '../src/export/shapes'
import { escapeXml, svgText } from '../src/export/svg'
import { placeGraph } from '../src/model/graph'
import { jobGraph } from '../src/model/jobGraph'
import { runMarks } from '../src/model/runState'
import { themeOf } from '../src/theme'
import { inlined } from '../standalone'

const HOSTILE = '"><script>alert(1)</script>'
const plan = madeUpPlan(`p${HOSTILE}`, 2, 3, HOSTILE)
const graph = placeGraph(jobGraph(plan), 'right', true)

describe('svg', () => {
  const svg = svgText(graph, runMarks(plan, madeUpRun(plan, 'success', 0, 100), 100), 'light')
  it('has every name as text, and no element that names make', () => {
    expect(svg).not.toContain('<script')
    expect(svg).toContain('&lt;script&gt;')
    expect(svg.match(/<title>/g)).toHaveLength(1)
  })
  it('needs no style sheet', () => {
    expect(svg).not.toMatch(/ (style|class)=|<style/)
    expect(svg).toMatch(/stroke-dasharray="9 5"/)
  })
  it('is well formed where a name is not', () => {
    expect(escapeXml('a\u0000<&>"\'')).toBe('a\ufffd&lt;&amp;&gt;&quot;&#39;')
  })
  it('differs by theme', () => {
    expect(svgText(graph, null, 'dark')).not.toBe(svgText(graph, null, 'light'))
  })
})

it('writes Mermaid with thick staged edges and entities', () => {
  const text = mermaidText(graph.model)
  expect(text).toMatch(/^---\ntitle: "p#quot;#gt;#lt;script/)
  expect(text).toContain('  subgraph g0["task_0"]')
  expect(text).toContain('==>')
  expect(text).not.toContain('<script')
})

it('moves glyphs', () => {
  expect(movedGlyph('M2 6l3 3', 10, 20, 1)).toBe('M12 26l3 3')
  expect(movedGlyph('M1 2V3H4a4 4 0 1 0 0 8', 10, 20, 2)).toBe('M12 24V26H18a8 8 0 1 0 0 16')
  expect(movedGlyph('M1 1A4 4 0 1 0 10 7', 1, 2, 1)).toBe('M2 3A4 4 0 1 0 11 9')
})

describe('the page in one file', () => {
  const page = '<html><head>\n    <meta charset="utf-8" />\n    <!--view-plan-->\n    <script type="module" src="./assets/app.js"></script>\n    <link rel="stylesheet" href="./assets/app.css">\n</head><body>\n  </body></html>'
  const file = inlined(page, 'const a = "</script><!--" + "$&"', 'b { c: d }', 'MIT')
  it('refers to no other file', () => {
    expect(file).not.toMatch(/src=|href=/)
    expect(file).toContain('<style>b { c: d }</style>')
  })
  it('has the marker once, before the script, whatever the script says', () => {
    expect(file.split('<!--')).toHaveLength(2)
    expect(file.indexOf('<!--view-plan-->')).toBeLessThan(file.indexOf('<script type="module">'))
    expect(file.match(/<\/script>/g)).toHaveLength(2)
    expect(file).toContain('"$&"')
  })
  it('allows its own script and style only', () => {
    expect(file).toMatch(/default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+'/)
  })
})

it('is dark as Airflow is, else as the system is', () => {
  const html = (name: string) => ({ classList: { contains: (wanted: string) => wanted === name }, dataset: {} }) as unknown as HTMLElement
  expect([themeOf(html('dark'), false), themeOf(html('light'), true), themeOf(null, true), themeOf(null, false)]).toEqual(['dark', 'light', 'dark', 'light'])
})
