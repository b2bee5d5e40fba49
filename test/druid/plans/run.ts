import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type ClusterAccess, type ClusterClient, clientOf } from '@svc/cli/client'
import type { LiveState } from '@svc/cli/declared-state'
import { readLiveState } from '@svc/cli/live-state'
import {
  applySteps,
  compareFiles,
  type DeclaredFiles,
  type MadePlan,
  makePlan,
  readDeclaredFiles,
  remainingSteps,
} from '@svc/cli/plan'
import { previewsOf } from '@svc/cli/preview'
import { seededRandom } from '../../support/random.ts'
import { type Choices, choicesFrom } from '../differential/choices.ts'
import { type DruidSystem, startDruidSystem } from '../differential/druid-system.ts'
import { passwords } from '../differential/logins.ts'
import { type Case, type Rules, randomCase } from '../previews/cases.ts'
import { countsOf, measuredOutcome } from '../previews/outcome.ts'
import { type DeclaredJson, randomState } from './whole-state.ts'

/** How much to run. */
export interface PlanOptions {
  readonly firstSeed: number
  /** Number of clusters. */
  readonly seeds: number
  /** Number of changes for each cluster. */
  readonly changes: number
}

/** The result of all changes. */
export interface PlansReport {
  /** Plans after which Druid has what they predicted, and after which another plan has no changes. */
  readonly right: number
  readonly wrong: number
  /** Changes after which two runs of Druid had different counts. */
  readonly dropped: number
}

/**
 * Plans random changes to the entire configuration of Druid 37, applies them with all waiting between their phases, and
 * compares what Druid has when it has settled with what the plan predicted.
 */
export async function runPlans(
  { firstSeed, seeds, changes }: PlanOptions,
  print: (line: string) => void,
): Promise<PlansReport> {
  const druid = await startDruidSystem()
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-plans-'))
  let [right, wrong, dropped] = [0, 0, 0]
  try {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      const choices = choicesFrom(seededRandom(seed))
      const one = randomCase(choices, Date.now(), druid.serverNames, changes, seed)
      for (const change of one.changes) {
        const file = path.join(folder, 'state.yaml')
        const first = await applyChange(druid, one, choices, change, file)
        if (first.problem === undefined) {
          right += 1
          continue
        }
        const second = await applyAgain(druid, one, file)
        if (isDeepStrictEqual(first.measured, second.measured)) {
          wrong += 1
          print(JSON.stringify({ seed, change, ...first }))
        } else dropped += 1
      }
      print(`Seed ${seed}: ${right} right, ${wrong} wrong, ${dropped} dropped so far`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
    await druid.stop()
  }
  return { right, wrong, dropped }
}

/** What a plan predicted, and what Druid had after it was applied. */
interface AppliedPlan {
  readonly predicted: object
  readonly measured: object
  /** Undefined if both are equal, and another plan has no changes. */
  readonly problem: string | undefined
}

async function applyChange(
  druid: DruidSystem,
  one: Case,
  choices: Choices,
  change: Rules,
  file: string,
): Promise<AppliedPlan> {
  const connection = connectTo(druid)
  const live = await prepare(druid, one, connection)
  const authorizer = [...live.sections.values()].find(({ path: at }) => at[0] === 'authorizers')!.path[1]!
  const declared = randomState(choices, authorizer, { ...one.rules, ...change })
  writeFileSync(file, JSON.stringify(withPresentAccess(declared, live, authorizer)))
  return await applyFile(druid, connection, file)
}

async function applyAgain(druid: DruidSystem, one: Case, file: string): Promise<AppliedPlan> {
  const connection = connectTo(druid)
  await prepare(druid, one, connection)
  return await applyFile(druid, connection, file)
}

/** Users and roles that Druid needs must stay. */
function withPresentAccess(declared: DeclaredJson, live: LiveState, authorizer: string): DeclaredJson {
  const kept = ['admin', 'druid_system']
  const withKept = (name: 'roles' | 'users', random: object): object => {
    const section = [...live.sections.values()].find(
      ({ path: at }) => at[0] === 'authorizers' && at[2] === name,
    )
    const present = [...(section?.entries ?? [])].filter(([entry]) => kept.includes(entry))
    return { ...random, ...Object.fromEntries(present) }
  }
  const { roles = {}, users = {} } = (declared.authorizers as Record<string, Record<string, object>>)[
    authorizer
  ]!
  return {
    ...declared,
    authorizers: { [authorizer]: { roles: withKept('roles', roles), users: withKept('users', users) } },
  }
}

interface Connection {
  readonly access: ClusterAccess
  readonly client: ClusterClient
}

/** Connects to Druid's coordinator. It has no router, which removes the name of a role from paths. */
function connectTo(druid: DruidSystem): Connection {
  const { url } = druid.clientOf('')
  const access: ClusterAccess = {
    routerUrl: url,
    interfaceName: 'druid',
    trusted: undefined,
    credentials: `admin:${passwords.admin}`,
    rejectedLogin: 'Druid rejected the login',
  }
  const client = clientOf(access)
  const direct = (at: string): string => at.replace(/^\/proxy\/coordinator/, '')
  return {
    access,
    client: {
      ...client,
      send: (method, at, ...more) => client.send(method, direct(at), ...more),
      request: (method, at, ...more) => client.request(method, direct(at), ...more),
    },
  }
}

const base = '/druid/coordinator/v1'

/** Puts Druid into the state of a case. Returns its configuration. */
async function prepare(
  druid: DruidSystem,
  { servers, segments, rules }: Case,
  { client }: Connection,
): Promise<LiveState> {
  const http = druid.clientOf(base)
  await http.post(`${base}/rules/_default`, rules._default)
  await druid.reset(servers, segments)
  // Otherwise, its leader moves segments at random, and does not mark overshadowed ones for a while.
  await http.post(`${base}/config`, {
    millisToWaitBeforeDeleting: 0,
    maxSegmentsToMove: 0,
    smartSegmentLoading: false,
  })
  for (const [name, list] of Object.entries(rules)) await http.post(`${base}/rules/${name}`, list)
  await settle(druid)
  return await readLiveState(client)
}

async function settle(druid: DruidSystem): Promise<void> {
  if (!(await druid.settle())) throw new Error('Druid did not settle')
}

async function applyFile(
  druid: DruidSystem,
  { access, client }: Connection,
  file: string,
): Promise<AppliedPlan> {
  const files = readDeclaredFiles(file)
  const made = await planFiles(client, access, files)
  const http = druid.clientOf(base)
  const names = Object.keys(made.preview?.summary.datasources ?? {})
  const listed = await http.get<{ dataSource: string; interval: string; identifier: string }[]>(
    `${base}/metadata/segments`,
  )
  const context = { client, headers: {}, passwordOf: () => undefined }
  const preview = previewsOf(client, access, { buckets: 1 })
  await applySteps(
    context,
    { steps: made.steps, rulesChanged: false },
    {
      signal: new AbortController().signal,
      onApplied: () => undefined,
      onOverwritten: () => undefined,
      untilLoaded: async () => {
        await settle(druid)
        return (await remainingSteps(client, made.plan, preview)).steps
      },
    },
  )
  await settle(druid)
  const predicted = predictedCounts(made)
  const measured = countsOf(await measuredOutcome(http, listed, names))
  const { changes } = await compareFiles(client, files, { parts: [], create: true })
  const problem = !isDeepStrictEqual(predicted, measured)
    ? 'Druid has something else'
    : changes.length > 0
      ? `Another plan changes ${changes.map(({ path: at }) => at.join('.')).join(', ')}`
      : undefined
  return { predicted, measured, problem }
}

async function planFiles(
  client: ClusterClient,
  access: ClusterAccess,
  files: DeclaredFiles,
): Promise<MadePlan> {
  const compared = await compareFiles(client, files, { parts: [], create: true })
  return await makePlan(client, compared, previewsOf(client, access, { buckets: 1 }), new Date())
}

/** What a plan predicts for each datasource: replicas by tier, used segments, and unqueryable ones. */
function predictedCounts({ preview }: MadePlan): object {
  const datasources = Object.entries(preview?.summary.datasources ?? {})
  return Object.fromEntries(
    datasources.map(([name, { used, effects, tiers }]) => [
      name,
      {
        copies: Object.fromEntries(
          Object.entries(tiers)
            .map(([tier, { after }]) => [tier, after.copies] as const)
            .filter(([, copies]) => copies > 0)
            .sort(([a], [b]) => (a < b ? -1 : 1)),
        ),
        used: used.segments - effects.unused.segments,
        unqueryable: effects.unqueryable.segments,
      },
    ]),
  )
}
