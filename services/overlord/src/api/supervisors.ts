import {
  assertRunnableBy,
  type ClusterCompactionConfig,
  compactionConfigSchema,
  parseCompactionConfig,
} from '@svc/domain/compaction-config'
import { Failure, forbidden, notFound } from '@svc/domain/failure'
import { formatInstant } from '@svc/domain/time'
import {
  described,
  optional,
  readFields,
  readFlag,
  readOneOf,
  schemaOf,
  titled,
} from '@svc/domain/validation'
import {
  type AuditInfo,
  authenticated,
  jsonAnswer,
  jsonBody,
  type Route,
  type RouteInput,
  route,
  statedDatasource,
} from '@svc/shared/http'
import {
  type CompactionSupervisor,
  compactionSupervisorId,
  formatSupervisor,
  loadClusterCompactionConfig,
  loadCompactionSupervisor,
  loadCompactionSupervisors,
  loadSupervisorVersions,
  type SupervisorVersion,
  saveCompactionSupervisor,
  suspendCompactionSupervisor,
  terminateCompactionSupervisor,
} from '@svc/shared/postgres'
import type { Caller } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { compactionStatusShape, namesShape } from '@svc/shared/shapes'
import { presence, shapedParser, shapeOf } from '@svc/shared/wire'
import { z } from 'zod'

const path = (rest = ''): string => `/svc/indexer/v1/supervisor${rest}`

const readSupervisor = titled(
  'Supervisor',
  readFields({
    type: readOneOf(['autocompact']),
    spec: described(compactionConfigSchema(), parseCompactionConfig),
    suspended: optional(readFlag, false),
  }),
)

const supervisorShape = shapeOf(schemaOf(readSupervisor))
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
  .meta({ title: 'SupervisorStatus', description: 'What it is to do is told where it is asked for' })
const versionsShape = z.array(
  z
    .object({ spec: z.looseObject({ type: z.string() }), version: z.string() })
    .meta({ title: 'SupervisorVersion' }),
)
const idShape = z.object({ id: z.string() })

/** What a supervisor is at: `healthy` is whether it can do its work, or was told not to. */
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

const describeVersion = ({ spec, createdAt }: SupervisorVersion) => ({
  spec,
  version: formatInstant(createdAt),
})

/** What supervisors are told through the interface. */
export interface SupervisorActions {
  /** How far the compaction of a datasource is, as the status endpoints tell it; undefined where it is not known. */
  statusOf(dataSource: string): Promise<object | undefined>
  /** Called after a change that supervisors may have to act on. */
  changed(): void
}

/** The endpoints of supervisors; all there are compact a datasource each. */
export function supervisorRoutes(
  { database, clock }: ServiceContext,
  { statusOf, changed }: SupervisorActions,
): Route[] {
  /** The supervisor of a request, if the caller may do `action` with its datasource. */
  async function supervisorOf(
    { params, caller }: RouteInput<unknown, unknown>,
    action: 'READ' | 'WRITE',
  ): Promise<CompactionSupervisor> {
    const id = params.supervisor as string
    const found = await loadCompactionSupervisor(database, id)
    if (found === undefined) throw notFound(`Supervisor [${id}] does not exist`)
    // One that the caller may not even read does not exist for it.
    const mayKnow = (['READ', action] as const).some((one) => caller.can(one, 'DATASOURCE', found.dataSource))
    if (!mayKnow && !caller.compatibility) throw notFound(`Supervisor [${id}] does not exist`)
    assertMay(caller, action, found.dataSource)
    return found
  }

  function assertMay(caller: Caller, action: 'READ' | 'WRITE', dataSource: string): void {
    if (caller.can(action, 'DATASOURCE', dataSource)) return
    throw forbidden(`The permission [${action}] on [DATASOURCE] [${dataSource}] is missing`)
  }

  async function describe(supervisor: CompactionSupervisor, cluster: ClusterCompactionConfig) {
    const { id, dataSource, suspended } = supervisor
    const { state, healthy } = stateOf(supervisor, cluster)
    return { id, dataSource, state, detailedState: state, healthy, suspended }
  }

  const setSuspended = (suspended: boolean) => async (input: RouteInput<unknown, unknown>) => {
    const { id } = await supervisorOf(input, 'WRITE')
    const changedTo = await suspendCompactionSupervisor(database, id, suspended, input.audit, clock.now())
    changed()
    return formatSupervisor(changedTo)
  }

  async function terminate(input: RouteInput<unknown, unknown>) {
    const { id, dataSource } = await supervisorOf(input, 'WRITE')
    await terminateCompactionSupervisor(database, dataSource, input.audit, clock.now())
    changed()
    return { id }
  }

  const forAll =
    (act: (supervisor: CompactionSupervisor, audit: AuditInfo) => Promise<unknown>) =>
    async ({ caller, audit }: RouteInput<unknown, unknown>) => {
      for (const supervisor of await loadCompactionSupervisors(database)) {
        if (caller.can('WRITE', 'DATASOURCE', supervisor.dataSource)) await act(supervisor, audit)
      }
      changed()
      return { status: 'success' }
    }

  const readsOne = statedDatasource('READ', 'the datasource of the supervisor')
  const writesOne = statedDatasource('WRITE', 'the datasource of the supervisor')

  return [
    route({
      method: 'GET',
      path: path(),
      access: authenticated,
      summary:
        'The supervisors of datasources that the caller may write; with full, system or state=true as objects',
      query: z.object({
        full: presence,
        system: presence,
        state: z.string({ error: 'one text, given once' }).optional(),
      }),
      answers: [jsonAnswer(z.union([namesShape, z.array(supervisorStatusShape)]))],
      handle: async ({ caller, query }) => {
        const all = await loadCompactionSupervisors(database)
        const mine = all.filter(({ dataSource }) => caller.can('WRITE', 'DATASOURCE', dataSource))
        const withState = query.state !== undefined && query.state.toLowerCase() !== 'false'
        if (!query.full && !query.system && !withState) return mine.map(({ id }) => id)
        const cluster = await loadClusterCompactionConfig(database)
        return await Promise.all(
          mine.map(async (supervisor) => {
            const spec = formatSupervisor(supervisor)
            return {
              ...(await describe(supervisor, cluster)),
              ...(query.full ? { spec } : {}),
              // What other services of a cluster ask for: the spec as text, since they do not know every kind.
              ...(query.system ? { type: spec.type, source: '', specString: JSON.stringify(spec) } : {}),
            }
          }),
        )
      },
    }),
    route({
      method: 'POST',
      path: path(),
      access: statedDatasource('WRITE', 'the datasource that the body names'),
      summary: 'Creates a supervisor, or gives it another configuration',
      body: jsonBody(
        shapedParser(supervisorShape, (json) => {
          const { spec, suspended } = readSupervisor(json, '')
          return { config: spec, suspended }
        }),
      ),
      answers: [jsonAnswer(idShape)],
      handle: async ({ body, caller, audit }) => {
        const { dataSource } = body.config
        assertMay(caller, 'WRITE', dataSource)
        await saveCompactionSupervisor(database, body, audit, clock.now())
        changed()
        return { id: compactionSupervisorId(dataSource) }
      },
    }),
    route({
      method: 'GET',
      path: path('/history'),
      access: authenticated,
      summary: 'All versions of all supervisors of datasources that the caller may read, newest first',
      answers: [jsonAnswer(z.record(z.string(), versionsShape))],
      handle: async ({ caller }) => {
        const versions = (await loadSupervisorVersions(database)).filter(({ dataSource }) =>
          caller.can('READ', 'DATASOURCE', dataSource),
        )
        const byId = Map.groupBy(versions, ({ id }) => id)
        return Object.fromEntries([...byId].map(([id, list]) => [id, list.map(describeVersion)]))
      },
    }),
    ...(
      [
        [
          'suspendAll',
          'Suspends',
          (id: string, audit: AuditInfo) =>
            suspendCompactionSupervisor(database, id, true, audit, clock.now()),
        ],
        [
          'resumeAll',
          'Resumes',
          (id: string, audit: AuditInfo) =>
            suspendCompactionSupervisor(database, id, false, audit, clock.now()),
        ],
      ] as const
    ).map(([name, does, act]) =>
      route({
        method: 'POST',
        path: path(`/${name}`),
        access: authenticated,
        summary: `${does} the supervisors of datasources that the caller may write`,
        answers: [jsonAnswer(z.object({ status: z.literal('success') }))],
        handle: forAll(({ id }, audit) => act(id, audit)),
      }),
    ),
    route({
      method: 'POST',
      path: path('/terminateAll'),
      access: authenticated,
      summary: 'Terminates the supervisors of datasources that the caller may write',
      answers: [jsonAnswer(z.object({ status: z.literal('success') }))],
      handle: forAll(({ dataSource }, audit) =>
        terminateCompactionSupervisor(database, dataSource, audit, clock.now()),
      ),
    }),
    route({
      method: 'GET',
      path: path('/:supervisor'),
      access: readsOne,
      summary: 'What a supervisor is to do',
      answers: [jsonAnswer(supervisorShape)],
      handle: async (input) => formatSupervisor(await supervisorOf(input, 'READ')),
    }),
    route({
      method: 'GET',
      path: path('/:supervisor/status'),
      access: readsOne,
      summary: 'How far a supervisor is',
      answers: [
        jsonAnswer(
          z.object({ id: z.string(), generationTime: z.string(), payload: compactionStatusShape.nullable() }),
        ),
      ],
      handle: async (input) => {
        const { id, dataSource } = await supervisorOf(input, 'READ')
        return {
          id,
          generationTime: formatInstant(clock.now()),
          payload: (await statusOf(dataSource)) ?? null,
        }
      },
    }),
    route({
      method: 'GET',
      path: path('/:supervisor/health'),
      access: readsOne,
      summary: 'Whether a supervisor can do its work',
      answers: [jsonAnswer(z.object({ healthy: z.boolean() }))],
      handle: async (input) => {
        const supervisor = await supervisorOf(input, 'READ')
        return { healthy: stateOf(supervisor, await loadClusterCompactionConfig(database)).healthy }
      },
    }),
    route({
      method: 'GET',
      path: path('/:supervisor/stats'),
      access: readsOne,
      summary: 'Rows that a supervisor has read: supervisors of compaction read none themselves',
      answers: [jsonAnswer(z.looseObject({}))],
      handle: async (input) => {
        await supervisorOf(input, 'READ')
        return {}
      },
    }),
    route({
      method: 'GET',
      path: path('/:supervisor/history'),
      access: readsOne,
      summary: 'All versions of a supervisor, newest first, also of one that is terminated',
      answers: [jsonAnswer(versionsShape)],
      handle: async ({ params, caller }) => {
        const id = params.supervisor as string
        const versions = (await loadSupervisorVersions(database, id)).filter(({ dataSource }) =>
          caller.can('READ', 'DATASOURCE', dataSource),
        )
        if (versions.length === 0) throw notFound(`Supervisor [${id}] has no history`)
        return versions.map(describeVersion)
      },
    }),
    route({
      method: 'POST',
      path: path('/:supervisor/suspend'),
      access: writesOne,
      summary: 'Keeps a supervisor from submitting further tasks',
      answers: [jsonAnswer(supervisorShape)],
      handle: setSuspended(true),
    }),
    route({
      method: 'POST',
      path: path('/:supervisor/resume'),
      access: writesOne,
      summary: 'Lets a suspended supervisor go on',
      answers: [jsonAnswer(supervisorShape)],
      handle: setSuspended(false),
    }),
    ...['terminate', 'shutdown'].map((name) =>
      route({
        method: 'POST',
        path: path(`/:supervisor/${name}`),
        access: writesOne,
        summary: 'Ends a supervisor for good; its history stays',
        answers: [jsonAnswer(idShape)],
        handle: terminate,
      }),
    ),
  ]
}
