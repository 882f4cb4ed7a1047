/** Links out of the frame. Airflow's sandbox lets a frame neither open tabs nor move the page around it. */

import type { MouseEvent } from 'react'

/** A path of Airflow's, beside wherever this page is served; or an address of the web; anything else is no link. */
export function linkTarget(url: string | null, page: string): string | null {
  if (!url) return null
  if (/^https?:\/\//i.test(url)) return url
  return url.startsWith('/') && !url.startsWith('//') ? new URL(`../../${url.slice(1)}`, page).href : null
}

/** Follow a link in the page around this one: an anchor made there is that page's own. */
export function followOutside(event: MouseEvent<HTMLAnchorElement>): void {
  if (window.parent === window || event.ctrlKey || event.metaKey || event.shiftKey) return
  try {
    const anchor = window.parent.document.createElement('a')
    anchor.href = event.currentTarget.href
    anchor.rel = 'noreferrer'
    event.preventDefault()
    anchor.click()
  } catch {
    // Another origin: the browser follows the link as it may.
  }
}
