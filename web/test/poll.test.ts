import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { poll, type Loaded } from '../src/poll'

interface Run {
  state: string
}

const page = Object.assign(new EventTarget(), { hidden: false })
const answers: (Response | Error | Promise<Response>)[] = []
const asked: { path: string; etag: string | null; signal: AbortSignal | null | undefined }[] = []
let shown: Loaded<Run> = { document: null, error: null }
let end = (): void => undefined

function run(state: string): Response {
  return new Response(JSON.stringify({ state }), { headers: { ETag: `"${state}"` } })
}

function failed(status: number): Response {
  return new Response(JSON.stringify({ detail: `it is ${status}` }), { status })
}

function begin(): void {
  end = poll<Run>('../api/run', 2, (found) => found.state === 'success', (found) => (shown = { ...shown, ...found }))
}

async function show(isShown: boolean): Promise<void> {
  page.hidden = !isShown
  page.dispatchEvent(new Event('visibilitychange'))
  await vi.advanceTimersByTimeAsync(0)
}

beforeEach(() => {
  vi.useFakeTimers()
  answers.length = asked.length = 0
  shown = { document: null, error: null }
  page.hidden = false
  vi.stubGlobal('document', page)
  vi.stubGlobal('fetch', (path: string, { headers, signal }: RequestInit) => {
    asked.push({ path, etag: new Headers(headers).get('If-None-Match'), signal })
    const answer = answers.shift() ?? new Response(null, { status: 304 })
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer)
  })
})

afterEach(() => {
  end()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

describe('asking again', () => {
  it('ends with the last document', async () => {
    answers.push(run('running'), run('success'))
    begin()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked.map(({ etag }) => etag)).toEqual([null, '"running"'])
    expect(shown).toEqual({ document: { state: 'success' }, error: null })
  })
  it('forgets a failure when nothing else has changed', async () => {
    answers.push(run('running'), new TypeError('Failed to fetch'))
    begin()
    await vi.advanceTimersByTimeAsync(2000)
    expect(shown).toEqual({ document: { state: 'running' }, error: 'Failed to fetch' })
    await vi.advanceTimersByTimeAsync(4000)
    expect(shown).toEqual({ document: { state: 'running' }, error: null })
  })
  it('waits longer after each failure, half a minute at most', async () => {
    answers.push(run('running'), ...Array.from({ length: 40 }, () => failed(500)))
    begin()
    await vi.advanceTimersByTimeAsync(10 * 60_000)
    expect(asked.length).toBeLessThan(30)
    expect(asked.length).toBeGreaterThan(20)
  })
  it.each([401, 403, 404])('ends at %i, and tries again when somebody looks again', async (status) => {
    answers.push(run('running'), failed(status))
    begin()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(asked).toHaveLength(2)
    expect(shown.error).not.toBeNull()
    await show(false)
    await show(true)
    expect(asked).toHaveLength(3)
    expect(shown).toEqual({ document: { state: 'running' }, error: null })
  })
  it.each([408, 429, 503])('goes on after %i', async (status) => {
    answers.push(run('running'), failed(status), run('success'))
    begin()
    await vi.advanceTimersByTimeAsync(6000)
    expect(shown).toEqual({ document: { state: 'success' }, error: null })
  })
  it('asks nothing while nobody looks, and once when an ended run is looked at again', async () => {
    answers.push(run('running'))
    begin()
    await show(false)
    await vi.advanceTimersByTimeAsync(60 * 60_000)
    expect(asked).toHaveLength(1)
    answers.push(run('success'))
    await show(true)
    answers.push(run('running'))
    await show(true)
    expect(asked).toHaveLength(3)
    expect(shown.document).toEqual({ state: 'running' })
  })
  it('gives up a request that is never answered', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
      const lost = new AbortController()
      setTimeout(() => lost.abort(new DOMException('lost', 'TimeoutError')), milliseconds)
      return lost.signal
    })
    vi.stubGlobal('fetch', (path: string, { signal }: RequestInit) => {
      asked.push({ path, etag: null, signal })
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)))
    })
    begin()
    await vi.advanceTimersByTimeAsync(40_000)
    timeout.mockRestore()
    expect(shown.error).toBe('The server has not answered for 30 seconds.')
    expect(asked).toHaveLength(2)
  })
  it('tells nothing after its end, however late the answer', async () => {
    let late: (answer: Response) => void = () => undefined
    answers.push(new Promise((resolve) => (late = resolve)))
    begin()
    end()
    late(run('running'))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(shown.document).toBeNull()
    expect(asked).toHaveLength(1)
  })
})
