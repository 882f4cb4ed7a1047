/** Writes standalone.html beside index.html: the same page in one file, which makes no requests. */

import { createHash } from 'node:crypto'
import type { Plugin } from 'vite'

const MARKER = '<!--view-plan-->'

export function standalone(): Plugin {
  return {
    name: 'standalone',
    enforce: 'post',
    // After the licenses are written.
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        const script = bundle['assets/app.js']
        const style = bundle['assets/app.css']
        const page = bundle['index.html']
        const licenses = bundle['assets/licenses.md']
        if (script?.type !== 'chunk' || style?.type !== 'asset' || page?.type !== 'asset' || licenses?.type !== 'asset') throw new Error('the build has other files than standalone.html is made of')
        this.emitFile({ type: 'asset', fileName: 'standalone.html', source: inlined(String(page.source), script.code, String(style.source), String(licenses.source)) })
      },
    },
  }
}

/** A policy with hashes: only this script and this style are allowed. */
export function inlined(page: string, script: string, style: string, licenses: string): string {
  const closed = (text: string): string => text.replace(/<\/script/gi, '<\\/script').replace(/<!--/g, '<\\!--')
  const code = closed(script)
  const hash = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const policy = `default-src 'none'; script-src ${hash(code)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`
  const lines = page
    .replace(/^.*<script[^>]*src=.*<\/script>\n/m, '')
    .replace(/^.*<link[^>]*rel="stylesheet".*\n/m, '')
    .split(MARKER)
  if (lines.length !== 2) throw new Error('index.html has the marker once')
  const [head = '', rest = ''] = lines
  const charset = '<meta charset="utf-8" />'
  const begun = head.replace(charset, () => `${charset}\n    <meta http-equiv="Content-Security-Policy" content="${policy}" />\n    <style>${style}</style>`)
  return `${begun}${MARKER}${rest.replace('</body>', () => `<script type="module">${code}</script>\n    <script type="text/plain" id="licenses">${closed(licenses)}</script>\n  </body>`)}`
}
