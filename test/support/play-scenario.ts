import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { TestCluster } from './test-cluster.ts'

const folder = path.join(import.meta.dirname, '../fixtures/conformance')

/** The output of playing recorded scenarios. */
export interface Played {
  readonly status: number
  readonly output: string
  /** Such as `62 passed, 0 failed`. */
  readonly lastLine: string
}

/** How steps that were recorded at Druid's coordinator reach svc's. */
export type Way = 'directly' | 'through the router'

/** The number of steps of a recorded scenario. */
export const stepsOf = (scenario: string): number => readScenario(scenario).steps.length

/**
 * Plays recorded security scenarios, one after another, against a cluster. Through the router, the steps for
 * the coordinator are sent to `/proxy/coordinator/...`, except for paths that are open at the coordinator
 * itself, because the router requires a login for them.
 */
export async function playSecurityScenarios(
  cluster: TestCluster,
  way: Way,
  scenarios: readonly string[],
): Promise<Played> {
  const { urls, home, trusted } = cluster
  const instances = {
    router: 'router',
    coordinator: 'coordinator',
    overlord: 'overlord',
    historical: 'historical-1',
  }
  const args = [path.join(folder, 'run.mjs')]
  for (const [option, instance] of Object.entries(instances)) args.push(`--${option}`, urls[instance]!)
  if (trusted !== undefined) {
    const authority = path.join(home.root, 'authority.pem')
    writeFileSync(authority, trusted)
    args.push('--ca', authority)
  }
  for (const scenario of scenarios) {
    if (way === 'directly') args.push(path.join(folder, scenario))
    else {
      const file = path.join(home.root, path.basename(scenario))
      writeFileSync(file, JSON.stringify(throughRouter(readScenario(scenario))))
      args.push(file)
    }
  }
  return new Promise((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 2 ** 24 }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`
      const lastLine = output.trimEnd().split('\n').at(-1) ?? ''
      resolve({ status: error ? Number(error.code ?? 1) : 0, output, lastLine })
    })
  })
}

interface Step {
  readonly at?: string
  readonly request: { readonly path: string }
}

interface Scenario {
  readonly steps: readonly Step[]
}

const readScenario = (scenario: string): Scenario =>
  JSON.parse(readFileSync(path.join(folder, scenario), 'utf8')) as Scenario

const openAtCoordinator =
  /^\/(status\/(health|ready)|svc\/coordinator\/v1\/isLeader|svc\/indexer\/v1\/isLeader)?$/

const throughRouter = (scenario: Scenario): Scenario => ({
  ...scenario,
  steps: scenario.steps.map((step) =>
    step.at !== 'coordinator' || openAtCoordinator.test(step.request.path)
      ? step
      : {
          ...step,
          at: 'router',
          request: { ...step.request, path: `/proxy/coordinator${step.request.path}` },
        },
  ),
})
