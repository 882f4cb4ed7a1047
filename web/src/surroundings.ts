/** The page of Airflow around this one, where this one stands in a frame of it. */

function surroundingPage(): Window | null {
  try {
    // Reading anything of another origin throws.
    return window.parent === window || !window.parent.document ? null : window.parent
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
