// svc makes the tier decisions of Druid 37 on a complete cluster. In each recorded case the servers are virtual, the
// segments are in the metadata store, the rules are posted, the time is the cluster's time, and duties run until there
// is nothing to do.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { segmentId } from '@svc/domain/segment'
import { formatInstant, formatInterval, type Interval, parseInstant, parseInterval } from '@svc/domain/time'
import { sql } from '@svc/shared/postgres'
import { storeSegments, waitUntil } from '@svc/shared/testing'
import { startTestCluster } from './support/test-cluster.ts'

interface RecordedServer {
  readonly type: 'historical' | 'broker'
  readonly tier: string
}
interface RecordedCase {
  readonly now: string
  readonly servers: readonly RecordedServer[]
  readonly rules: readonly { readonly type: string; readonly interval?: string }[]
  readonly segments: readonly {
    readonly interval: string
    readonly partitionNum: number
    readonly loaded: Readonly<Record<string, number>>
    readonly brokers?: number
  }[]
}

const lines = readFileSync(new URL('./fixtures/vectors/tiers.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
const cases = lines.map((line, index) => ({
  ...(JSON.parse(line) as RecordedCase),
  dataSource: `case${index + 1}`,
}))
type Case = (typeof cases)[number]

// The cluster's clock never goes back, and the cases are from the past, so they run 400 years later, when every
// date has the same weekday.
const laterMs = 146_097 * 86_400_000
const laterInstant = (text: string): string => formatInstant(parseInstant(text) + laterMs)
const laterInterval = (text: string): Interval => {
  const { start, end } = parseInterval(text)
  return { start: start + laterMs, end: end + laterMs }
}
const laterRule = (rule: RecordedCase['rules'][number]): object =>
  rule.interval === undefined ? rule : { ...rule, interval: formatInterval(laterInterval(rule.interval)) }

const firstGroups = [{ count: 1, size: '1g' }]
const cluster = await startTestCluster({
  profile: 'plain',
  // The duties run only on request, and only virtual servers can load segments.
  set: [
    'svc.simulation.enabled=true',
    'svc.simulation.clock.enabled=true',
    `historical.svc.simulation.virtualServers=${JSON.stringify(firstGroups)}`,
    'broker.svc.segmentCache.locations=[]',
    'coordinator.svc.coordinator.period=PT1H',
  ],
})
after(() => cluster.end())
const { router, store } = cluster

const groupsOf = (servers: readonly RecordedServer[]): object[] =>
  [...Map.groupBy(servers, ({ type, tier }) => JSON.stringify({ type, tier }))].map(([kind, members]) => ({
    ...JSON.parse(kind),
    count: members.length,
    size: '1g',
    loadBytesPerSecond: '1g',
  }))

interface RunAnswer {
  readonly groups: readonly { readonly duties: readonly { did: object | null; error: string | null }[] }[]
}
/** The result of a rule run; null if it did nothing. */
async function run(): Promise<object | null> {
  const { json } = await router.post('/svc/simulation/v1/run', { groups: ['HistoricalManagementDuties'] })
  const [duty] = (json as RunAnswer).groups[0]!.duties
  assert.equal(duty!.error, null)
  return duty!.did
}

const untilQueuesAreEmpty = (): Promise<unknown> =>
  waitUntil(
    'nothing is queued',
    () =>
      router.get<Record<string, { segmentsToLoad: number; segmentsToDrop: number }>>(
        '/svc/coordinator/v1/loadqueue?simple',
      ),
    (queues) =>
      Object.values(queues).every(
        ({ segmentsToLoad, segmentsToDrop }) => segmentsToLoad + segmentsToDrop === 0,
      ),
    { pollMs: 10 },
  )

async function settle(): Promise<void> {
  for (let runs = 0; runs < 50; runs += 1) {
    if ((await run()) === null) return
    await untilQueuesAreEmpty()
  }
  assert.fail('the cluster does not become stable')
}

interface ServedBy {
  readonly host: string
  readonly type: string
  readonly tier: string
  readonly segments: Record<string, unknown>
}

/** Where the segments of a case are loaded: replicas by tier on historicals, and the number of brokers. */
async function copiesOf(ids: readonly string[]) {
  const copies = ids.map(() => ({ loaded: {} as Record<string, number>, brokers: 0 }))
  for (const { type, tier, segments } of await router.get<ServedBy[]>('/svc/coordinator/v1/servers?full')) {
    ids.forEach((id, index) => {
      const held = copies[index]!
      if (segments[id] === undefined) return
      if (type === 'broker') held.brokers += 1
      else held.loaded[tier] = (held.loaded[tier] ?? 0) + 1
    })
  }
  return copies
}

async function play({ now, servers, rules, segments, dataSource }: Case): Promise<void> {
  await router.post('/svc/simulation/v1/clock', { now: laterInstant(now) })
  await cluster.at('historical-1').post('/svc/historical/v1/virtualServers', groupsOf(servers))
  await router.post(`/svc/coordinator/v1/rules/${dataSource}`, rules.map(laterRule))
  const stored = segments.map(({ interval, partitionNum }) => {
    const key = { dataSource, interval: laterInterval(interval), version: 'v1', partitionNum }
    return { ...key, id: segmentId(key), partitions: 1, sizeBytes: 1000, totalRows: 1 }
  })
  await storeSegments(store, stored)
  await settle()
  const expected = segments.map(({ loaded, brokers = 0 }) => ({ loaded, brokers }))
  const found = await copiesOf(stored.map(({ id }) => id))
  assert.deepEqual(
    found,
    expected,
    `${dataSource}: ${lines[cases.findIndex((one) => one.dataSource === dataSource)]}`,
  )
  // Each case has only its own segments.
  await store.query(sql`UPDATE segments SET used = false WHERE datasource = ${dataSource} AND used`)
}

before(() => router.post('/svc/simulation/v1/clock', { now: laterInstant(cases[0]!.now), rate: 0 }))

test('every recorded cluster reaches the recorded state through its duties', async () => {
  assert.equal(cases.length, 120)
  for (const one of cases.toSorted((a, b) => parseInstant(a.now) - parseInstant(b.now))) await play(one)
})
