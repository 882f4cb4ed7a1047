/** The page of Airflow around this one, if this page is in a frame of it. */

import { NAMES, writeAddress, type Address } from './address'

type Page = Window & typeof globalThis

function surroundingPage(): Page | null {
  try {
    // Reading a page of a different origin throws.
    return window.parent === window || !window.parent.document ? null : (window.parent as Page)
  } catch {
    return null
  }
}

/** Airflow marks its <html> with the class `dark` or `light`. */
export function surroundingHtml(): HTMLElement | null {
  return surroundingPage()?.document.documentElement ?? null
}

/** What the surrounding page already shows: a Dag, or a run of it. This page does not repeat it. */
export function namedOutside(path: string = surroundingPage()?.location.pathname ?? ''): 'dag' | 'run' | null {
  if (/\/dags\/[^/]+\/runs\/[^/]+/.test(path)) return 'run'
  return /\/dags\/[^/]+/.test(path) ? 'dag' : null
}

/** The plugin's names for the pages of Airflow that contain this one. */
const OURS = /\/plugin\/graph-compiler/

/** What is shown here, from the URL of the surrounding page: after a link, or a reload. */
export function outsideSearch(): string {
  const page = surroundingPage()
  return page && OURS.test(page.location.pathname) ? page.location.search : ''
}

/** Put what is shown here into the URL of the surrounding page, so that links and reloads return to it. */
export function nameOutside(address: Address): void {
  const page = surroundingPage()
  if (!page || !OURS.test(page.location.pathname)) return
  const search = outsideQuery(page.location.search, address, namedOutside())
  page.history.replaceState(page.history.state, '', page.location.pathname + search + page.location.hash)
}

/** The query of the surrounding page: other names stay, and what its path contains is left out. */
export function outsideQuery(before: string, address: Address, named: 'dag' | 'run' | null): string {
  const query = new URLSearchParams(before)
  for (const name of NAMES) query.delete(name)
  for (const [name, value] of new URLSearchParams(writeAddress(address).slice(1))) {
    if (!(named && name === 'dag_id') && !(named === 'run' && name === 'run_id')) query.set(name, value)
  }
  const text = query.toString()
  return text ? `?${text}` : ''
}

/** Airflow's search opens with a key that the surrounding page does not receive while this page has the focus. */
export function passSearchKey(event: KeyboardEvent): void {
  const page = surroundingPage()
  if (!page || event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  const { key, code, ctrlKey, metaKey } = event
  page.document.dispatchEvent(new page.KeyboardEvent('keydown', { key, code, ctrlKey, metaKey, bubbles: true }))
}
