/** The server's routes, with made-up documents. Plans in the folder VIEW_PLANS are served, too. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createHash } from 'node:crypto'
import type { Connect, Plugin } from 'vite'
import type { ViewPlan } from '../src/documents'
import { madeUpDiff, madeUpOutcomes, madeUpPlan, madeUpResult, madeUpRows, madeUpRun } from './fixtures.ts'

/** Only what the page needs: no inline script, no inline style; its own pictures for exports. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

function plans(): Map<string, ViewPlan> {
  const found = new Map<string, ViewPlan>()
  const folder = process.env['VIEW_PLANS']
  if (folder && existsSync(folder)) {
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.json'))) {
      found.set(name.replace('.json', ''), JSON.parse(readFileSync(join(folder, name), 'utf8')) as ViewPlan)
    }
  }
  for (const [name, regions, size] of [['small', 3, 4], ['made_200', 20, 10], ['made_1000', 50, 20]] as const) found.set(name, madeUpPlan(name, regions, size))
  found.set('<script>alert(1)</script>', madeUpPlan('<script>alert(1)</script>', 3, 3, '"><img src=x onerror=alert(1)>'))
  found.set('4000 subtasks', madeUpPlan('4000 subtasks', 2, 3, '', 4000))
  return found
}

/** The task groups of a Dag: one of the made-up ones is in two, of which the second is mapped. */
function groupsOf(plan: ViewPlan): string[] {
  return plan.pipeline === 'small' ? ['small', MAPPED] : ['']
}

const MAPPED = 'each_country.small'

function instanceOf(query: URLSearchParams): { group: string; map_index: number | null; map_indexes: number[] } {
  const group = query.get('group') ?? ''
  return group === MAPPED ? { group, map_index: Number(query.get('map_index') ?? 0), map_indexes: [0, 1, 2] } : { group, map_index: null, map_indexes: [] }
}

export function mockRoutes(): Connect.NextHandleFunction {
  const known = plans()
  const runs = ['success', 'running', 'failed', 'retried', 'backfill']
  const begun = Date.now() / 1000
  return (request, response, next) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    const parts = url.pathname.split('/').slice(1).map(decodeURIComponent)
    if (parts[0] !== 'graph-compiler' || parts[1] !== 'api') return next()
    const answer = (document: unknown, status = 200): void => {
      const text = JSON.stringify(document)
      const etag = `"${createHash('sha256').update(text).digest('hex').slice(0, 16)}"`
      response.setHeader('Content-Type', 'application/json')
      response.setHeader('ETag', etag)
      response.statusCode = request.headers['if-none-match'] === etag ? 304 : status
      response.end(response.statusCode === 304 ? '' : text)
    }
    if (parts[2] === 'pipelines') {
      return answer({
        runs_are_shown: true,
        pipelines: [...known].map(([name, plan], at) => ({
          dag_id: name,
          group: '',
          pipeline: name,
          description: plan.description,
          tags: ['example'],
          operators: plan.operators.length,
          vertices: plan.vertices.length,
          tasks: plan.regions.length,
          staged: plan.edges.filter((edge) => edge.is_staged).length,
          schedule: ['0 6 * * *', 'None', '@daily'][at % 3],
          is_paused: at % 5 === 4,
          runs: madeUpOutcomes(at, begun),
        })),
      })
    }
    const plan = known.get(parts[3] ?? '')
    const run = url.searchParams.get('run_id') ?? ''
    if (!plan) return answer({ detail: `there is no Dag '${parts[3] ?? ''}'` }, 404)
    switch (parts[4]) {
      case 'pipelines':
        return answer({ pipelines: groupsOf(plan).map((group) => ({ group, pipeline: plan.pipeline })) })
      case 'plan':
        return answer(plan)
      case 'run':
        return answer({ ...madeUpRun(plan, run, begun, Date.now() / 1000), ...instanceOf(url.searchParams) })
      case 'runs':
        return answer({ runs: runs.map((id) => ({ run_id: id, state: ['retried', 'backfill'].includes(id) ? 'success' : id, run_type: 'manual', logical_date: null, queued: null, started: begun - 60, ended: null, dag_version: 2 })) })
      case 'versions':
        return answer({ versions: [2, 1].map((number) => ({ number, created: begun - 86400 / number, plan_id: `${number}` })) })
      case 'compare':
        return answer(madeUpDiff(plan))
      case 'result':
        return answer(madeUpResult(url.searchParams.get('result') ?? ''))
      case 'rows':
        return run === 'retried' ? answer({ detail: "epoch 1 was released by its last consumer, 'task_1'" }, 404) : answer(madeUpRows())
      default:
        return answer({ detail: 'no such route' }, 404)
    }
  }
}

export function mockServer(): Plugin {
  return {
    name: 'mock-server',
    configureServer: (server) => void server.middlewares.use(mockRoutes()),
    configurePreviewServer: (server) => {
      server.middlewares.use((_, response, next) => {
        response.setHeader('Content-Security-Policy', POLICY)
        next()
      })
      server.middlewares.use(mockRoutes())
    },
  }
}
