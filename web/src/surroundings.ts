/** The page of Airflow around this one, where this one stands in a frame of it. */

import { NAMES, writeAddress, type Address } from './address'

type Page = Window & typeof globalThis

function surroundingPage(): Page | null {
  try {
    // Reading anything of another origin throws.
    return window.parent === window || !window.parent.document ? null : (window.parent as Page)
  } catch {
    return null
  }
}

/** Airflow marks its <html> with the class `dark` or `light`. */
export function surroundingHtml(): HTMLElement | null {
  return surroundingPage()?.document.documentElement ?? null
}

/** What the page around names already: a Dag, or a run of it. Saying it once more would only take room. */
export function namedOutside(path: string = surroundingPage()?.location.pathname ?? ''): 'dag' | 'run' | null {
  if (/\/dags\/[^/]+\/runs\/[^/]+/.test(path)) return 'run'
  return /\/dags\/[^/]+/.test(path) ? 'dag' : null
}

/** Airflow's pages that hold this one are called so by the plugin. */
const OURS = /\/plugin\/graph-compiler/

/** What is shown here, as the address of the page around says it: from a link, or before a reload. */
export function outsideSearch(): string {
  const page = surroundingPage()
  return page && OURS.test(page.location.pathname) ? page.location.search : ''
}

/** Let the address of the page around name what is shown here, so that a link to it and a reload lead back. */
export function nameOutside(address: Address): void {
  const page = surroundingPage()
  if (!page || !OURS.test(page.location.pathname)) return
  const search = outsideQuery(page.location.search, address, namedOutside())
  page.history.replaceState(page.history.state, '', page.location.pathname + search + page.location.hash)
}

/** The query of the page around: what is not ours stays, what its path names is left out. */
export function outsideQuery(before: string, address: Address, named: 'dag' | 'run' | null): string {
  const query = new URLSearchParams(before)
  for (const name of NAMES) query.delete(name)
  for (const [name, value] of new URLSearchParams(writeAddress(address).slice(1))) {
    if (!(named && name === 'dag_id') && !(named === 'run' && name === 'run_id')) query.set(name, value)
  }
  const text = query.toString()
  return text ? `?${text}` : ''
}

/** Airflow's search opens by a key that the page around does not hear while this one has the focus. */
export function passSearchKey(event: KeyboardEvent): void {
  const page = surroundingPage()
  if (!page || event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  const { key, code, ctrlKey, metaKey } = event
  page.document.dispatchEvent(new page.KeyboardEvent('keydown', { key, code, ctrlKey, metaKey, bubbles: true }))
}
