/** Documents that are requested repeatedly while they may change. */

import { useEffect, useState } from 'react'
import { ask, ServerError } from './api'

/** Longer than any response takes: a request that was lost in a sleeping laptop or a proxy fails after this time. */
const TIMEOUT_SECONDS = 30
/** Status codes with which the server, or a proxy before it, asks for a later retry. */
const RETRY_LATER = [408, 425, 429]

export interface Loaded<T> {
  document: T | null
  error: string | null
}

/** Request a document once, and again when the path changes; null requests nothing. */
export function useDocument<T>(path: string | null): Loaded<T> {
  return usePolled<T>(path, null, () => true)
}

/** Request a document every `seconds` until it is final. */
export function usePolled<T>(path: string | null, seconds: number | null, isFinal: (document: T) => boolean): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { path: string | null }>({ path: null, document: null, error: null })
  useEffect(() => {
    if (path === null) return
    return poll<T>(path, seconds, isFinal, (found) =>
      setLoaded((before) => {
        const known = before.path === path ? before : { document: null, error: null }
        return { ...known, ...found, path }
      }),
    )
    // isFinal depends only on the document.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [path, seconds])
  return loaded.path === path ? loaded : { document: null, error: null }
}

/**
 * Poll a document, report each change, and return a function that stops it. A hidden page requests nothing, and requests once
 * when it is shown again: an ended run may have been cleared, or the user may have logged in. Unchanged documents are not sent
 * again (ETag), and after each failure it waits longer.
 */
export function poll<T>(path: string, seconds: number | null, isFinal: (document: T) => boolean, tell: (found: Partial<Loaded<T>>) => void): () => void {
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
      const answer = await ask<T>(path, AbortSignal.any([controller.signal, AbortSignal.timeout(TIMEOUT_SECONDS * 1000)]), etag)
      if (controller.signal.aborted) return
      etag = answer.etag
      if (answer.document !== null) {
        isDone = seconds === null || isFinal(answer.document)
        tell({ document: answer.document, error: null })
      } else if (failures) tell({ error: null })
      failures = 0
    } catch (error) {
      if (controller.signal.aborted) return
      failures++
      isDone = seconds === null || (error instanceof ServerError && error.status < 500 && !RETRY_LATER.includes(error.status))
      tell({ error: words(error) })
    } finally {
      isAsking = false
    }
    if (!isDone && seconds !== null) timer = setTimeout(() => void next(), seconds * 1000 * 2 ** Math.min(failures, 4))
  }
  const onShown = (): void => {
    if (document.hidden) return
    clearTimeout(timer)
    if (seconds !== null) isDone = false
    void next()
  }
  document.addEventListener('visibilitychange', onShown)
  void next()
  return () => {
    controller.abort()
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', onShown)
  }
}

function words(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return `The server has not answered for ${TIMEOUT_SECONDS} seconds.`
  return error instanceof Error ? error.message : String(error)
}
