import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { pickPortOffset, startCluster } from '@svc/cli/cluster'
import { createRehearsal } from '@svc/cli/import'
import { openHttp } from '@svc/cli/snapshot'
import { createHttpClient, type HttpClient, waitUntil } from '@svc/shared/testing'
import { seededRandom } from '../../support/random.ts'
import { choicesFrom } from '../differential/choices.ts'
import { type DruidSystem, startDruidSystem } from '../differential/druid-system.ts'
import { passwords } from '../differential/logins.ts'
import { type Case, type Rules, randomCase } from './cases.ts'
import {
  countsOf,
  differingSegments,
  type ListedSegment,
  measuredOutcome,
  type Outcome,
  type Preview,
  predictedOutcome,
} from './outcome.ts'

/** How much to run. */
export interface PreviewOptions {
  readonly firstSeed: number
  /** Number of imports. */
  readonly seeds: number
  /** Number of rule changes for each import. */
  readonly changes: number
}

/** A change for which Druid has a different state from the predicted one. */
export interface WrongPreview {
  readonly seed: number
  readonly servers: Case['servers']
  readonly before: Rules
  readonly change: Rules
  readonly predicted: object
  readonly measured: object
  readonly segments: readonly string[]
}

/** The result of all changes. */
export interface PreviewReport {
  /** Changes after which every single segment is where it was predicted. */
  readonly exact: number
  /** Changes after which only the predicted counts are right: on full servers, Druid keeps other segments. */
  readonly counted: number
  readonly wrong: readonly WrongPreview[]
  /**
   * Changes that Druid's duties did not finish within their runs, or after which Druid had other counts than predicted,
   * and yet others in a second run.
   */
  readonly dropped: number
}

/**
 * Previews random rule changes on imports of Druid 37, makes the same changes in Druid, and compares what Druid has
 * when it has settled. Previews change nothing, so that one import serves several changes.
 */
export async function runPreviews(
  { firstSeed, seeds, changes }: PreviewOptions,
  print: (line: string) => void,
): Promise<PreviewReport> {
  const druid = await startDruidSystem()
  let [exact, counted, dropped] = [0, 0, 0]
  const wrong: WrongPreview[] = []
  try {
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      const startedAt = performance.now()
      const one = randomCase(choicesFrom(seededRandom(seed)), Date.now(), druid.serverNames, changes, seed)
      const predictions = await predict(await prepare(druid, one), one.changes)
      for (const [index, first] of predictions.entries()) {
        const change = one.changes[index] as Rules
        let predicted = first
        let measured = await measure(druid, await prepare(druid, one), change)
        if (measured !== undefined && !haveSameCounts(measured, predicted)) {
          // Druid may have placed the segments differently than before the import.
          const client = await prepare(druid, one)
          predicted = (await predict(client, [change]))[0] as Outcome
          measured = await measure(druid, client, change)
        }
        if (measured === undefined) dropped += 1
        else if (isDeepStrictEqual(measured, predicted)) exact += 1
        else if (haveSameCounts(measured, predicted)) counted += 1
        else if (!(await hasAgain(druid, one, change, measured))) dropped += 1
        else {
          const found = {
            seed,
            change,
            predicted: countsOf(predicted),
            measured: countsOf(measured),
            segments: differingSegments(predicted, measured),
            before: one.rules,
            servers: one.servers,
          }
          wrong.push(found)
          print(JSON.stringify(found))
        }
      }
      print(
        `Seed ${seed} (${((performance.now() - startedAt) / 1000).toFixed(1)} s): ${exact} exact, ${counted} with the same counts, ${wrong.length} wrong, ${dropped} dropped so far`,
      )
    }
  } finally {
    await druid.stop()
  }
  return { exact, counted, wrong, dropped }
}

const base = '/druid/coordinator/v1'
const maxRows = 10_000

/** Puts Druid into the state of a case. */
async function prepare(druid: DruidSystem, { servers, segments, rules }: Case): Promise<HttpClient> {
  const client = druid.clientOf(base)
  await client.post(`${base}/rules/_default`, rules._default)
  await druid.reset(servers, segments)
  // Otherwise, its leader moves segments at random, and does not mark overshadowed ones for a while.
  await client.post(`${base}/config`, {
    millisToWaitBeforeDeleting: 0,
    maxSegmentsToMove: 0,
    smartSegmentLoading: false,
  })
  await setRules(client, rules)
  if (!(await settles(druid))) throw new Error('Druid did not settle')
  return client
}

/** Runs duties until they change nothing. Tries twice, because a busy machine may exceed the time of the first try. */
const settles = async (druid: DruidSystem): Promise<boolean> =>
  (await druid.settle()) || (await druid.settle())

async function setRules(client: HttpClient, rules: Rules): Promise<void> {
  for (const [name, list] of Object.entries(rules)) await client.post(`${base}/rules/${name}`, list)
}

const haveSameCounts = (one: Outcome, other: Outcome): boolean =>
  isDeepStrictEqual(countsOf(one), countsOf(other))

/** Imports the present state of Druid, and previews changes there. */
async function predict({ url }: HttpClient, changes: readonly Rules[]): Promise<Outcome[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-previews-'))
  try {
    const home = path.join(folder, 'home')
    const { report } = await createRehearsal(
      await openHttp({ url, credentials: `admin:${passwords.admin}` }),
      {
        home,
        loadBytesPerSecond: '1TiB',
        skipBad: false,
        signal: new AbortController().signal,
        onStep: () => undefined,
      },
    )
    const portOffset = await pickPortOffset({ profile: 'plain' })
    const cluster = await startCluster({ home, portOffset, profile: 'plain' })
    const client = createHttpClient(cluster.routerUrl)
    try {
      await waitUntil(
        'the import is known',
        () => client.get<{ known: boolean }>('/svc/coordinator/v1/clusterState'),
        ({ known }) => known,
      )
      const listed = await client.get<unknown[]>('/svc/coordinator/v1/metadata/segments')
      if (report.read.segments !== listed.length) throw new Error('The import is not complete')
      return await Promise.all(changes.map((change) => preview(client, change)))
    } finally {
      client.close()
      await cluster.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function preview(client: HttpClient, change: Rules): Promise<Outcome> {
  const path = `/svc/coordinator/v1/rules/simulate?full&limit=${maxRows}`
  const { json } = await client.post(path, { rules: change })
  return predictedOutcome(json as Preview, Object.keys(change))
}

/** Makes a change in Druid, and returns what it then has; undefined if its duties do not come to an end. */
async function measure(druid: DruidSystem, client: HttpClient, change: Rules): Promise<Outcome | undefined> {
  const listed = await client.get<ListedSegment[]>(`${base}/metadata/segments`)
  await setRules(client, change)
  if (!(await settles(druid))) return undefined
  return await measuredOutcome(client, listed, Object.keys(change))
}

/** Whether Druid has the same counts if the change is made once more. */
async function hasAgain(druid: DruidSystem, one: Case, change: Rules, measured: Outcome): Promise<boolean> {
  const again = await measure(druid, await prepare(druid, one), change)
  return again !== undefined && haveSameCounts(again, measured)
}
