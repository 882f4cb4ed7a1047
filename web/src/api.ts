/** What the server is asked. Every address is relative to the page, so a prefix before Airflow does no harm. */

import { useEffect, useState } from 'react'

const API = '../api/'

export class ServerError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

export function apiPath(parts: readonly string[], query: Record<string, string | null | undefined> = {}): string {
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== null && value !== undefined) search.set(key, value)
  const text = search.toString()
  return API + parts.map(encodeURIComponent).join('/') + (text ? `?${text}` : '')
}

export interface Answer<T> {
  /** Null where the server says that nothing changed. */
  document: T | null
  etag: string | null
}

export async function ask<T>(path: string, signal: AbortSignal, etag: string | null = null): Promise<Answer<T>> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (etag) headers['If-None-Match'] = etag
  const response = await fetch(path, { headers, signal, credentials: 'same-origin', cache: 'no-store' })
  if (response.status === 304) return { document: null, etag }
  if (!response.ok) throw new ServerError(response.status, await refusal(response))
  return { document: (await response.json()) as T, etag: response.headers.get('ETag') }
}

async function refusal(response: Response): Promise<string> {
  if (response.status === 401) return 'You are not logged in: log in to Airflow, and load this page again.'
  try {
    const body = (await response.json()) as { detail?: unknown }
    // Airflow's own refusal is this one word.
    if (typeof body.detail === 'string' && body.detail !== 'Forbidden') return body.detail
  } catch {
    // An answer that is no JSON says nothing more than its status.
  }
  if (response.status === 403) return 'You may not read this Dag.'
  return response.status === 404 ? 'There is no such thing here (404).' : `The server answered ${response.status}.`
}

export interface Loaded<T> {
  document: T | null
  error: string | null
}

/** Ask once, and again whenever the path changes; null asks nothing. */
export function useDocument<T>(path: string | null): Loaded<T> {
  return usePolled<T>(path, null, () => true)
}

/**
 * Ask every `seconds` until the document says that it is final. A hidden page asks nothing. What is unchanged is not sent
 * again (ETag), and after a failure it waits longer each time.
 */
export function usePolled<T>(path: string | null, seconds: number | null, isFinal: (document: T) => boolean): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path: string | null }>({ path: null, document: null, error: null })
  useEffect(() => {
    if (path === null) return
    const controller = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let etag: string | null = null
    let isDone = false
    let failures = 0
    let isAsking = false
    const next = async (): Promise<void> => {
      if (isDone || isAsking || document.hidden) return
      isAsking = true
      try {
        const answer = await ask<T>(path, controller.signal, etag)
        etag = answer.etag
        failures = 0
        if (answer.document !== null) {
          isDone = seconds === null || isFinal(answer.document)
          setLoaded({ path, document: answer.document, error: null })
        }
      } catch (error) {
        if (controller.signal.aborted) return
        failures++
        isDone = seconds === null || (error instanceof ServerError && error.status < 500)
        const message = error instanceof Error ? error.message : String(error)
        setLoaded((before) => ({ path, document: before.path === path ? before.document : null, error: message }))
      } finally {
        isAsking = false
      }
      if (!isDone && seconds !== null) timer = setTimeout(() => void next(), seconds * 1000 * 2 ** Math.min(failures, 4))
    }
    const onShown = (): void => {
      if (document.hidden) return
      clearTimeout(timer)
      void next()
    }
    document.addEventListener('visibilitychange', onShown)
    void next()
    return () => {
      controller.abort()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onShown)
    }
    // isFinal is a function of the document alone.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [path, seconds])
  return loaded.path === path ? loaded : { document: null, error: null }
}
