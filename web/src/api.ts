/** Requests to the server. All URLs are relative to the page, so Airflow may be served below any path. */

import { setByAnswer } from './clock'
import type { ViewRun } from './documents'

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

/** The part of a query that names a pipeline's run: its group and its instance, too. */
export function ofRun({ run_id, group, map_index }: Pick<ViewRun, 'run_id' | 'group' | 'map_index'>): Record<string, string | null> {
  return { run_id, group: group || null, map_index: map_index === null ? null : String(map_index) }
}

export interface Answer<T> {
  /** Null if nothing has changed. */
  document: T | null
  etag: string | null
}

export async function ask<T>(path: string, signal: AbortSignal, etag: string | null = null): Promise<Answer<T>> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (etag) headers['If-None-Match'] = etag
  const response = await fetch(path, { headers, signal, credentials: 'same-origin', cache: 'no-store' })
  setByAnswer(response.headers.get('Date'))
  if (response.status === 304) return { document: null, etag }
  if (!response.ok) throw new ServerError(response.status, await refusal(response))
  return { document: (await response.json()) as T, etag: response.headers.get('ETag') }
}

async function refusal(response: Response): Promise<string> {
  if (response.status === 401) return 'You are not logged in: log in to Airflow, and load this page again.'
  try {
    const body = (await response.json()) as { detail?: unknown }
    // Airflow's own refusal has only this word.
    if (typeof body.detail === 'string' && body.detail !== 'Forbidden') return body.detail
  } catch {
    // A response that is not JSON has no more information than its status.
  }
  if (response.status === 403) return 'You do not have permission to read this Dag.'
  return response.status === 404 ? 'Not found (404).' : `The server answered ${response.status}.`
}
