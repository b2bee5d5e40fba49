import { assertRunnableBy, type ClusterCompactionConfig, readCompactionConfig } from '@svc/domain/compaction'
import { Failure, notFound } from '@svc/domain/failure'
import { jsonList, jsonObjectOf, jsonObjectOfTexts } from '@svc/domain/json'
import { formatInstant } from '@svc/domain/time'
import {
  omittable,
  optional,
  readFields,
  readFlag,
  readOneOf,
  schemaOf,
  titled,
} from '@svc/domain/validation'
import { compactionStatusShape } from '@svc/shared/compaction'
import {
  type AuditInfo,
  authenticated,
  JsonPieces,
  jsonAnswer,
  jsonBody,
  type Route,
  type RouteInput,
  route,
  shapeOf,
  statedDatasource,
} from '@svc/shared/http'
import {
  type CompactionSupervisor,
  compactionSupervisorId,
  type Database,
  formatSupervisor,
  loadClusterCompactionConfig,
  loadCompactionSupervisor,
  loadCompactionSupervisors,
  type SupervisorVersion,
  saveCompactionSupervisor,
  supervisorVersionPages,
  suspendCompactionSupervisor,
  terminateCompactionSupervisor,
} from '@svc/shared/postgres'
import { accessTo, assertAccess, type Caller, mayAccess, permittedItems } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { namesShape } from '@svc/shared/shapes'
import { presence, textParameter } from '@svc/shared/wire'
import * as z from 'zod'

const path = (rest = ''): string => `/svc/indexer/v1/supervisor${rest}`

const readSupervisor = titled(
  'Supervisor',
  readFields({
    type: readOneOf(['autocompact']),
    spec: readCompactionConfig,
    suspended: optional(readFlag, false),
  }),
)

const supervisorShape = shapeOf(() => schemaOf(readSupervisor))
const supervisorStatusShape = z
  .object({
    id: z.string(),
    dataSource: z.string(),
    state: z.string(),
    detailedState: z.string(),
    healthy: z.boolean(),
    suspended: z.boolean(),
    spec: supervisorShape.optional(),
    type: z.string().optional(),
    source: z.string().optional(),
    specString: z.string().optional(),
  })
  .meta({ title: 'SupervisorStatus', description: 'The spec is included only if requested' })
const versionsShape = z.array(
  z
    .object({ spec: z.looseObject({ type: z.string() }), version: z.string() })
    .meta({ title: 'SupervisorVersion' }),
)
const idShape = z.object({ id: z.string() })

/** Returns the state of a supervisor. It is healthy if it can do its work or is stopped on purpose. */
function stateOf({ config, suspended }: CompactionSupervisor, cluster: ClusterCompactionConfig) {
  if (suspended) return { state: 'SUSPENDED', healthy: true }
  if (!cluster.useSupervisors) return { state: 'SCHEDULER_STOPPED', healthy: true }
  try {
    assertRunnableBy(config, cluster)
    return { state: 'RUNNING', healthy: true }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { state: 'INVALID_SPEC', healthy: false }
  }
}

const versionText = ({ spec, createdAt }: SupervisorVersion): string =>
  jsonObjectOfTexts([
    ['spec', spec],
    ['version', JSON.stringify(formatInstant(createdAt))],
  ])

/** Generates the IDs of supervisors, each with the JSON list of its versions, which follow each other in `pages`. */
export async function* versionsById(
  pages: AsyncIterable<readonly SupervisorVersion[]>,
): AsyncGenerator<readonly [id: string, versions: AsyncGenerator<string>]> {
  const versions = (async function* () {
    for await (const page of pages) yield* page
  })()
  let next = await versions.next()
  while (!next.done) {
    const { id } = next.value
    const own = async function* () {
      for (; !next.done && next.value.id === id; next = await versions.next()) yield [versionText(next.value)]
    }
    yield [id, jsonList(own())]
  }
}

/** Generates the JSON list of versions. Throws notFound if there are none. */
async function* versionsOf(
  id: string,
  pages: AsyncIterable<readonly SupervisorVersion[]>,
): AsyncGenerator<string[]> {
  let isFound = false
  for await (const page of pages) {
    isFound = true
    yield page.map(versionText)
  }
  if (!isFound) throw notFound(`Supervisor [${id}] has no history`)
}

/** What the endpoints of supervisors need from the overlord. */
export interface SupervisorActions {
  /** Returns the compaction status of a datasource, as the status endpoints show it, or undefined if it is not known. */
  statusOf(dataSource: string): Promise<object | undefined>
  /** Called after a change that may affect supervisors. */
  changed(): void
}

type Context = Pick<ServiceContext, 'database' | 'clock'>
type Parts = Context & SupervisorActions
type Input = RouteInput<unknown, unknown>

/** The endpoints of supervisors. Every supervisor compacts one datasource. */
export function supervisorRoutes({ database, clock }: Context, actions: SupervisorActions): Route[] {
  const parts = { database, clock, ...actions }
  return [
    listRoute(parts),
    saveRoute(parts),
    historyOfAllRoute(parts),
    ...changeAllRoutes(parts),
    ...readOneRoutes(parts),
    historyOfOneRoute(parts),
    ...changeOneRoutes(parts),
  ]
}

const readsOne = statedDatasource('READ', 'the datasource of the supervisor')
const writesOne = statedDatasource('WRITE', 'the datasource of the supervisor')

/** Returns the supervisor of a request. Throws forbidden or notFound if the caller may not do `action` with its datasource. */
async function supervisorOf(
  database: Database,
  { params, caller }: Input,
  action: 'READ' | 'WRITE',
): Promise<CompactionSupervisor> {
  const id = params.supervisor as string
  const found = await loadCompactionSupervisor(database, id)
  if (found === undefined) throw notFound(`Supervisor [${id}] does not exist`)
  // Callers who may not read a supervisor must not learn that it exists.
  const { dataSource } = found
  if (!(await mayAccess(caller, dataSource, action)) && !(await mayAccess(caller, dataSource, 'SEE')))
    throw notFound(`Supervisor [${id}] does not exist`)
  await assertAccess(caller, dataSource, action)
  return found
}

function describe(supervisor: CompactionSupervisor, cluster: ClusterCompactionConfig) {
  const { id, dataSource, suspended } = supervisor
  const { state, healthy } = stateOf(supervisor, cluster)
  return { id, dataSource, state, detailedState: state, healthy, suspended }
}

async function writableSupervisors(database: Database, caller: Caller): Promise<CompactionSupervisor[]> {
  const all = await loadCompactionSupervisors(database)
  return await permittedItems(caller, all, ({ dataSource }) => dataSource, 'WRITE')
}

const listQuery = { full: presence, system: presence, state: omittable(textParameter) }

const listRoute = ({ database }: Parts): Route =>
  route({
    method: 'GET',
    path: path(),
    access: authenticated,
    summary:
      'List the supervisors of datasources that the caller may write to. Returns IDs by default; with `full`, `system`, or `state=true`, returns objects',
    query: listQuery,
    answers: [jsonAnswer(z.union([namesShape, z.array(supervisorStatusShape)]))],
    handle: async ({ caller, query }) => {
      const mine = await writableSupervisors(database, caller)
      const withState = query.state !== undefined && query.state.toLowerCase() !== 'false'
      if (!query.full && !query.system && !withState) return mine.map(({ id }) => id)
      const cluster = await loadClusterCompactionConfig(database)
      return mine.map((supervisor) => {
        const spec = formatSupervisor(supervisor)
        return {
          ...describe(supervisor, cluster),
          ...(query.full ? { spec } : {}),
          // Other services get the spec as a string, because they do not know every type of supervisor.
          ...(query.system ? { type: spec.type, source: '', specString: JSON.stringify(spec) } : {}),
        }
      })
    },
  })

const saveRoute = ({ database, clock, changed }: Parts): Route =>
  route({
    method: 'POST',
    path: path(),
    access: statedDatasource('WRITE', 'the datasource in the body'),
    summary: 'Create or update a supervisor',
    body: jsonBody(readSupervisor),
    answers: [jsonAnswer(idShape)],
    handle: async ({ body: { spec, suspended }, caller, audit }) => {
      const { dataSource } = spec
      await assertAccess(caller, dataSource, 'WRITE')
      await saveCompactionSupervisor(database, { config: spec, suspended }, audit, clock.now())
      changed()
      return { id: compactionSupervisorId(dataSource) }
    },
  })

const historyOfAllRoute = ({ database }: Parts): Route =>
  route({
    method: 'GET',
    path: path('/history'),
    access: authenticated,
    summary:
      'List all versions of all supervisors, newest first, for the datasources that the caller may read',
    answers: [jsonAnswer(z.record(z.string(), versionsShape))],
    handle: async ({ caller }) =>
      new JsonPieces(
        jsonObjectOf(
          versionsById(supervisorVersionPages(database, { readable: (names) => accessTo(caller, names) })),
        ),
      ),
  })

function changeAllRoutes({ database, clock, changed }: Parts): Route[] {
  const changeAll = (
    name: string,
    does: string,
    change: (supervisor: CompactionSupervisor, audit: AuditInfo) => Promise<unknown>,
  ): Route =>
    route({
      method: 'POST',
      path: path(`/${name}`),
      access: authenticated,
      summary: `${does} all supervisors of datasources that the caller may write to`,
      answers: [jsonAnswer(z.object({ status: z.literal('success') }))],
      handle: async ({ caller, audit }) => {
        for (const supervisor of await writableSupervisors(database, caller)) await change(supervisor, audit)
        changed()
        return { status: 'success' as const }
      },
    })
  return [
    changeAll('suspendAll', 'Suspend', ({ id }, audit) =>
      suspendCompactionSupervisor(database, id, true, audit, clock.now()),
    ),
    changeAll('resumeAll', 'Resume', ({ id }, audit) =>
      suspendCompactionSupervisor(database, id, false, audit, clock.now()),
    ),
    changeAll('terminateAll', 'Terminate', ({ dataSource }, audit) =>
      terminateCompactionSupervisor(database, dataSource, audit, clock.now()),
    ),
  ]
}

function readOneRoutes({ database, clock, statusOf }: Parts): Route[] {
  const readOne = (rest: string) => ({
    method: 'GET' as const,
    path: path(`/:supervisor${rest}`),
    access: readsOne,
  })
  return [
    route({
      ...readOne(''),
      summary: 'Get the spec of a supervisor',
      answers: [jsonAnswer(supervisorShape)],
      handle: async (input) => formatSupervisor(await supervisorOf(database, input, 'READ')),
    }),
    route({
      ...readOne('/status'),
      summary: 'Get the status of a supervisor',
      answers: [
        jsonAnswer(
          z.object({ id: z.string(), generationTime: z.string(), payload: compactionStatusShape.nullable() }),
        ),
      ],
      handle: async (input) => {
        const { id, dataSource } = await supervisorOf(database, input, 'READ')
        const payload = (await statusOf(dataSource)) ?? null
        return { id, generationTime: formatInstant(clock.now()), payload }
      },
    }),
    route({
      ...readOne('/health'),
      summary: 'Check whether a supervisor is healthy',
      answers: [jsonAnswer(z.object({ healthy: z.boolean() }))],
      handle: async (input) => {
        const supervisor = await supervisorOf(database, input, 'READ')
        return { healthy: stateOf(supervisor, await loadClusterCompactionConfig(database)).healthy }
      },
    }),
    route({
      ...readOne('/stats'),
      summary:
        'Get the row statistics of a supervisor. The statistics are always empty, because compaction supervisors do not read rows',
      answers: [jsonAnswer(z.looseObject({}))],
      handle: async (input) => {
        await supervisorOf(database, input, 'READ')
        return {}
      },
    }),
  ]
}

const historyOfOneRoute = ({ database }: Parts): Route =>
  route({
    method: 'GET',
    path: path('/:supervisor/history'),
    access: readsOne,
    summary: 'List all versions of a supervisor, newest first; also works for terminated supervisors',
    answers: [jsonAnswer(versionsShape)],
    handle: async ({ params, caller }) => {
      const id = params.supervisor as string
      const pages = supervisorVersionPages(database, { id, readable: (names) => accessTo(caller, names) })
      return new JsonPieces(jsonList(versionsOf(id, pages)))
    },
  })

function changeOneRoutes({ database, clock, changed }: Parts): Route[] {
  const setSuspended = (name: string, summary: string, suspended: boolean): Route =>
    route({
      method: 'POST',
      path: path(`/:supervisor/${name}`),
      access: writesOne,
      summary,
      answers: [jsonAnswer(supervisorShape)],
      handle: async (input) => {
        const { id } = await supervisorOf(database, input, 'WRITE')
        const changedTo = await suspendCompactionSupervisor(database, id, suspended, input.audit, clock.now())
        changed()
        return formatSupervisor(changedTo)
      },
    })
  return [
    setSuspended('suspend', 'Suspend a supervisor so that it submits no more tasks', true),
    setSuspended('resume', 'Resume a suspended supervisor', false),
    ...['terminate', 'shutdown'].map((name) =>
      route({
        method: 'POST',
        path: path(`/:supervisor/${name}`),
        access: writesOne,
        summary: 'Terminate a supervisor permanently. Its history is kept',
        answers: [jsonAnswer(idShape)],
        handle: async (input) => {
          const { id, dataSource } = await supervisorOf(database, input, 'WRITE')
          await terminateCompactionSupervisor(database, dataSource, input.audit, clock.now())
          changed()
          return { id }
        },
      }),
    ),
  ]
}
