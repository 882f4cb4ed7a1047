/** Download a file. */

export function download(name: string, content: Blob | string, type = 'text/plain'): void {
  const blob = typeof content === 'string' ? new Blob([content], { type: `${type};charset=utf-8` }) : content
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name.replace(/[^\w.-]+/g, '_')
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
