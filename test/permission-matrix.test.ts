// In compatibility mode, every recorded endpoint answers each recorded user with the status of Druid 37.
// Exceptions for features that svc does not have, and for answers that depend on other state in Druid, are
// listed here.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { waitUntil } from '@svc/shared/testing'
import { runTask } from './support/flights.ts'
import { inlineTask } from './support/inline-task.ts'
import { playSecurityScenarios } from './support/play-scenario.ts'
import { startTestCluster, type TestCluster } from './support/test-cluster.ts'

interface Row {
  readonly at: string
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly status: Readonly<Record<string, number>>
  /** Which of the datasources was in the lists that users got. */
  readonly datasourcesShown?: Readonly<Record<string, Shown>>
}

const fixture = path.join(import.meta.dirname, 'fixtures/conformance/security/permission-matrix.json')
const rows = (JSON.parse(readFileSync(fixture, 'utf8')) as { endpoints: readonly Row[] }).endpoints

/** Features of Druid that the interface does not have. */
const absent: readonly RegExp[] = [
  /\/lookups\//,
  /\/scaling$/,
  /\/reports$/,
  /\/pendingSegments\//,
  /^POST \/svc\/indexer\/v1\/worker$/,
  /\/svc\/indexer\/v1\/worker\/.+\/(en|dis)able$/,
  /\/lockedIntervals\/v2$/,
  /\/activeLocks$/,
  /\/svc-internal\//,
  /\/bootstrapSegments$/,
  /\/syncedBrokers$|\/cloneStatus$/,
  // In svc, servers request changes; nobody pushes them.
  /\/listen\//,
]

/**
 * Rows whose statuses depend on state that differs from Druid's, such as a stored log or a second suspension.
 * Only whether the user has access is compared.
 */
const otherState: readonly RegExp[] = [
  /^GET \/svc\/indexer\/v1\/compaction\/config\/datasources\/(wikipedia|koalas)$/,
  /^GET .*\/log\?offset=-10$/,
  /\/supervisor\/autocompact__\w+\/(health|suspend|resume)$/,
]

/** Lists whose contents depend on state that differs from Druid's. */
const otherLists: readonly RegExp[] = [
  // Neither datasource has rules or a compaction configuration at the time of these requests.
  /^GET \/svc\/coordinator\/v1\/rules(\/history\?count=5)?$/,
  /^GET \/svc\/indexer\/v1\/compaction\/config\/datasources$/,
]

/** Replacements for things with their own names in Druid. */
async function prepare(cluster: TestCluster): Promise<(text: string) => string> {
  const played = await playSecurityScenarios(cluster, 'directly', ['security/setup.json'])
  assert.equal(played.status, 0, played.output)
  const names = new Map([['{historical port}', new URL(cluster.urls['historical-1']!).port]])
  for (const dataSource of ['wikipedia', 'koalas']) {
    names.set(`{task of ${dataSource}}`, await runTask(cluster.router, inlineTask(dataSource)))
    await waitUntil(
      `${dataSource} is loaded`,
      () => cluster.router.get<Record<string, number>>('/svc/coordinator/v1/loadstatus'),
      (status) => status[dataSource] === 100,
    )
    const [segment] = await cluster.router.get<string[]>(
      `/svc/coordinator/v1/metadata/datasources/${dataSource}/segments`,
    )
    names.set(`{segment of ${dataSource}}`, segment!)
  }
  await cluster.router.post('/svc/indexer/v1/compaction/config/cluster', { useSupervisors: true })
  return (text) => [...names].reduce((filled, [name, value]) => filled.replaceAll(name, value), text)
}

const passwordOf = (user: string) => (user === 'admin' ? 'password1' : 'pw-long-enough')

/** The answer that one user got for one row, or the recorded one. */
interface Cell {
  readonly status: number
  /** Which of the two datasources a list contains; undefined if the row is not a list. */
  readonly shown?: Shown | undefined
}

type Shown = 'both' | 'neither' | 'wikipedia' | 'koalas'

const isAccepted = ({ status }: Cell): boolean => status !== 401 && status !== 403

/** svc has no no-op tasks: a task that finds nothing to do takes their place. */
const bodyOf = ({ body }: Row): unknown => {
  const { type, dataSource } = (body ?? {}) as { type?: unknown; dataSource?: unknown }
  return type === 'noop' ? { type: 'kill', dataSource, interval: '1970-01-01/1970-01-02' } : body
}

const nameOf = ({ method, path: rowPath }: Pick<Row, 'method' | 'path'>) => `${method} ${rowPath}`

function shownIn(text: string): Shown {
  const [wikipedia, koalas] = [text.includes('wikipedia'), text.includes('koalas')]
  if (wikipedia && koalas) return 'both'
  return wikipedia ? 'wikipedia' : koalas ? 'koalas' : 'neither'
}

/** Sends the request of one row as one user. */
async function request(
  cluster: TestCluster,
  row: Row,
  user: string,
  fill: (text: string) => string,
): Promise<Cell> {
  const answer = await cluster.at(row.at === 'historical' ? 'historical-1' : row.at).send({
    method: row.method,
    path: fill(row.path),
    ...(row.body === undefined ? {} : { json: JSON.parse(fill(JSON.stringify(bodyOf(row)))) }),
    credentials: user === '(none)' ? null : `${user}:${passwordOf(user)}`,
  })
  const isList = row.datasourcesShown?.[user] !== undefined && answer.status === 200
  return { status: answer.status, shown: isList ? shownIn(answer.text) : undefined }
}

/** Returns the differences from the recorded answers, cell by cell, in a new cluster. */
async function differences(set: readonly string[]): Promise<Difference[]> {
  const cluster = await startTestCluster({ profile: 'secure', adminPassword: 'password1', set })
  try {
    const fill = await prepare(cluster)
    const found: Difference[] = []
    for (const row of rows) {
      if (absent.some((pattern) => pattern.test(nameOf(row)))) continue
      const isOfOtherState = otherState.some((pattern) => pattern.test(nameOf(row)))
      const users = Object.keys(row.status)
      const compare = async (user: string): Promise<void> => {
        const cell = await request(cluster, row, user, fill)
        const recorded = { status: row.status[user]!, shown: row.datasourcesShown?.[user] }
        const isList = !otherLists.some((pattern) => pattern.test(nameOf(row)))
        if (isOfOtherState && isAccepted(cell) && isAccepted(recorded)) return
        if (cell.status !== recorded.status || (isList && cell.shown !== recorded.shown))
          found.push({ row: nameOf(row), user, cell, recorded })
      }
      // Changes are sent in the recorded order, because the first request may remove what later ones look for.
      if (row.method === 'GET') await Promise.all(users.map(compare))
      else for (const user of users) await compare(user)
    }
    return found
  } finally {
    await cluster.end()
  }
}

interface Difference {
  readonly row: string
  readonly user: string
  readonly cell: Cell
  readonly recorded: Cell
}

const describe = ({ row, user, cell, recorded }: Difference): string =>
  `${row} as ${user}: ${cell.status} ${cell.shown ?? ''}, recorded ${recorded.status} ${recorded.shown ?? ''}`

test('permissions match Druid 37 in compatibility mode', { timeout: 500_000 }, async () => {
  const found = await differences(['svc.auth.authorizer.MyBasicMetadataAuthorizer.compatibility=true'])
  assert.deepEqual(found.map(describe), [])
})

/** An intended difference: what users get instead of the recorded answer. */
interface Wanted {
  readonly why: string
  readonly rows: RegExp
  readonly users: readonly string[]
  readonly cell: Cell
}

const usersWithoutAccess = {
  wikipedia: ['nothing', 'authonly', 'cfgread', 'cfgwrite', 'stread', 'stwrite', 'secread', 'secwrite'],
  koalas: ['dsread', 'dswrite', 'dsrw'],
}
const readersOfNeither = [...usersWithoutAccess.wikipedia, 'dswrite']
const usersWithoutKoalas = [...usersWithoutAccess.wikipedia, ...usersWithoutAccess.koalas]

const wanted: readonly Wanted[] = [
  {
    why: 'Lists of rules, server contents, and load status show only what the caller can READ',
    rows: /^GET \/svc\/coordinator\/v1\/(loadstatus(\?simple|\?full)?|servers\?full|servers\/[^/?]+(\/segments)?)$/,
    users: ['stread'],
    cell: { status: 200, shown: 'neither' },
  },
  {
    why: 'Lists of tiers do too',
    rows: /^GET \/svc\/coordinator\/v1\/tiers\/_default_tier(\?simple)?$/,
    users: ['stread'],
    cell: { status: 200, shown: 'neither' },
  },
  {
    why: 'Segments of a datasource that the caller cannot READ are not shown',
    rows: /^GET \/svc\/coordinator\/v1\/servers\/[^/]+\/segments\/\{segment of wikipedia\}$/,
    users: ['stread'],
    cell: { status: 404 },
  },
  {
    why: 'Tasks that the caller cannot READ do not exist for that caller',
    rows: /^GET \/svc\/indexer\/v1\/task\/\{task of wikipedia\}(\/status|\/log\?offset=-10)?$/,
    users: readersOfNeither,
    cell: { status: 404 },
  },
  {
    why: 'The same for a task of another datasource',
    rows: /^GET \/svc\/indexer\/v1\/task\/\{task of koalas\}(\/status|\/log\?offset=-10)?$/,
    users: usersWithoutKoalas,
    cell: { status: 404 },
  },
  {
    why: 'A caller without permission on its datasource cannot shut down a task either',
    rows: /^POST \/svc\/indexer\/v1\/task\/\{task of wikipedia\}\/shutdown$/,
    users: usersWithoutAccess.wikipedia,
    cell: { status: 404 },
  },
  {
    why: 'The same for a task of another datasource',
    rows: /^POST \/svc\/indexer\/v1\/task\/\{task of koalas\}\/shutdown$/,
    users: usersWithoutKoalas,
    cell: { status: 404 },
  },
  {
    why: 'The status of several tasks does not show them either',
    rows: /^POST \/svc\/indexer\/v1\/taskStatus$/,
    users: ['stwrite'],
    cell: { status: 200, shown: 'neither' },
  },
  {
    why: 'Supervisors that the caller cannot READ do not exist for that caller',
    rows: /^GET \/svc\/indexer\/v1\/supervisor\/autocompact__wikipedia(\/status|\/stats|\/health)?$/,
    users: readersOfNeither,
    cell: { status: 404 },
  },
  {
    why: 'The same for a supervisor of another datasource',
    rows: /^GET \/svc\/indexer\/v1\/supervisor\/autocompact__koalas(\/status|\/stats|\/health)?$/,
    users: usersWithoutKoalas,
    cell: { status: 404 },
  },
  {
    why: 'A caller without permission on its datasource cannot suspend or resume a supervisor either',
    rows: /^POST \/svc\/indexer\/v1\/supervisor\/autocompact__wikipedia\/(suspend|resume)$/,
    users: usersWithoutAccess.wikipedia,
    cell: { status: 404 },
  },
  {
    why: 'The same for a supervisor of another datasource',
    rows: /^POST \/svc\/indexer\/v1\/supervisor\/autocompact__koalas\/(suspend|resume)$/,
    users: usersWithoutKoalas,
    cell: { status: 404 },
  },
  {
    why: 'CONFIG WRITE on a pattern that matches every name does not make an administrator',
    rows: /^(POST|DELETE) \/svc-ext\/basic-security\/(authentication|authorization)\/db\//,
    users: ['cfgwrite'],
    cell: { status: 403 },
  },
  {
    why: 'The first permitted caller is the first one to create and to remove the mapping',
    rows: /^(POST|DELETE) \/svc-ext\/basic-security\/authorization\/db\/\w+\/groupMappings\/m1$/,
    users: ['secwrite'],
    cell: { status: 200 },
  },
]

test('without it, only the intended differences remain', { timeout: 500_000 }, async () => {
  const found = await differences([])
  const explains = ({ rows: pattern, users, cell }: Wanted, difference: Difference): boolean =>
    pattern.test(difference.row) &&
    users.includes(difference.user) &&
    cell.status === difference.cell.status &&
    cell.shown === difference.cell.shown
  assert.deepEqual(
    found.filter((difference) => !wanted.some((one) => explains(one, difference))).map(describe),
    [],
  )
  for (const one of wanted) {
    for (const user of one.users) {
      const isSeen = found.some((difference) => difference.user === user && explains(one, difference))
      assert.ok(isSeen, `${one.why}: ${one.rows} as ${user}`)
    }
  }
})
