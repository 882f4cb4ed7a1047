/** Links out of the frame. In Airflow's sandbox, a frame can neither open tabs nor navigate the page around it. */

import type { MouseEvent } from 'react'

/** The URL of a link: a path of Airflow, relative to where this page is served, or a URL of the web; null for anything else. */
export function linkTarget(url: string | null, page: string): string | null {
  if (!url) return null
  if (/^https?:\/\//i.test(url)) return url
  return url.startsWith('/') && !url.startsWith('//') ? new URL(`../../${url.slice(1)}`, page).href : null
}

/** Follow a link in the page around this one: an anchor that is created there belongs to that page. */
export function followOutside(event: MouseEvent<HTMLAnchorElement>): void {
  if (window.parent === window || event.ctrlKey || event.metaKey || event.shiftKey) return
  try {
    const anchor = window.parent.document.createElement('a')
    anchor.href = event.currentTarget.href
    anchor.rel = 'noreferrer'
    event.preventDefault()
    anchor.click()
  } catch {
    // A different origin: let the browser follow the link if it can.
  }
}
