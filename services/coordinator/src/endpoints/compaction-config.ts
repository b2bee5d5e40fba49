import {
  assertNoNewZeroSlots,
  defaultClusterConfig,
  formatClusterConfig,
  formatCompactionConfig,
  parseClusterConfig,
  readCompactionConfig,
} from '@svc/domain/compaction'
import { methodNotAllowed, notFound } from '@svc/domain/failure'
import { converted, described, omittable, refuse } from '@svc/domain/validation'
import { compactionHistory, compactionHistoryShape, fullCompactionConfigShape } from '@svc/shared/compaction'
import {
  authenticated,
  config,
  emptyAnswer,
  JsonPieces,
  jsonAnswer,
  jsonBody,
  type Route,
  route,
} from '@svc/shared/http'
import {
  changeClusterCompactionConfig,
  deleteCompactionConfig,
  loadClusterCompactionConfig,
  loadCompactionConfig,
  loadCompactionConfigs,
  saveCompactionConfig,
} from '@svc/shared/postgres'
import { mayAccess, permittedItems } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { historyParameters, textParameter } from '@svc/shared/wire'
import * as z from 'zod'

const path = '/svc/coordinator/v1/config/compaction'

const numberParameter = described(
  { type: 'number' },
  converted(textParameter, (text, field) => {
    if (!/^-?\d{1,12}(\.\d{1,12})?$/.test(text)) throw refuse(field, text, 'a number such as [0.1]')
    return Number(text)
  }),
)

const slotsQuery = { ratio: omittable(numberParameter), max: omittable(numberParameter) }

const allConfigsShape = z
  .object({
    compactionConfigs: z.array(fullCompactionConfigShape),
    compactionTaskSlotRatio: z.number(),
    maxCompactionTaskSlots: z.int(),
    compactionPolicy: z.looseObject({ type: z.string() }),
    useSupervisors: z.boolean(),
    engine: z.string(),
    storeCompactionStatePerSegment: z.boolean(),
  })
  .meta({ title: 'CompactionConfigs' })

type Context = Pick<ServiceContext, 'database' | 'clock'>

/** Returns the endpoints for the compaction configurations that the coordinator's compaction duty uses. */
export const compactionConfigRoutes = (context: Context): Route[] => [
  ...allConfigsRoutes(context),
  ...taskSlotRoutes(context),
  ...oneConfigRoutes(context),
]

function allConfigsRoutes({ database, clock }: Context): Route[] {
  return [
    route({
      method: 'GET',
      path,
      access: config('READ'),
      summary: 'List the compaction configurations of all datasources and of the cluster',
      answers: [jsonAnswer(allConfigsShape)],
      handle: async ({ caller }) => {
        const stored = await loadCompactionConfigs(database)
        const configs = await permittedItems(caller, stored, ({ dataSource }) => dataSource, 'SEE')
        const cluster = await loadClusterCompactionConfig(database)
        return { compactionConfigs: configs.map(formatCompactionConfig), ...formatClusterConfig(cluster) }
      },
    }),
    route({
      method: 'POST',
      path,
      access: config('WRITE'),
      summary: 'Set the compaction configuration of the datasource named in the request body',
      body: jsonBody(readCompactionConfig),
      answers: [emptyAnswer],
      handle: ({ body, audit }) => saveCompactionConfig(database, body, audit, clock.now()),
    }),
  ]
}

function taskSlotRoutes({ database, clock }: Context): Route[] {
  return [
    route({
      method: 'POST',
      path: `${path}/taskslots`,
      access: config('WRITE'),
      summary: 'Set the number of task slots for compaction; omitted parameters are set to their defaults',
      query: slotsQuery,
      answers: [emptyAnswer],
      handle: async ({ query, audit }) => {
        const { ratio, max } = query
        const { compactionTaskSlotRatio, maxCompactionTaskSlots } = parseClusterConfig({
          compactionTaskSlotRatio: ratio ?? defaultClusterConfig.compactionTaskSlotRatio,
          maxCompactionTaskSlots: max ?? defaultClusterConfig.maxCompactionTaskSlots,
        })
        await changeClusterCompactionConfig(
          database,
          (present) => {
            const next = { ...present, compactionTaskSlotRatio, maxCompactionTaskSlots }
            assertNoNewZeroSlots(next, present)
            return next
          },
          audit,
          clock.now(),
        )
      },
    }),
    route({
      method: 'GET',
      path: `${path}/taskslots`,
      access: authenticated,
      summary: 'Unsupported: this endpoint can only set the number of task slots',
      answers: [],
      failures: ['methodNotAllowed'],
      handle: ({ response }) => {
        response.setHeader('Allow', 'POST')
        throw methodNotAllowed('Unsupported method [GET]: expected [POST]')
      },
    }),
  ]
}

function oneConfigRoutes({ database, clock }: Context): Route[] {
  return [
    route({
      method: 'GET',
      path: `${path}/:dataSource`,
      access: config('READ'),
      summary: 'Get the compaction configuration of a datasource',
      answers: [jsonAnswer(fullCompactionConfigShape)],
      handle: async ({ params, caller }) => {
        const dataSource = params.dataSource as string
        const isSeen = await mayAccess(caller, dataSource, 'SEE')
        const found = isSeen ? await loadCompactionConfig(database, dataSource) : undefined
        if (found === undefined) throw notFound(`Datasource [${dataSource}] has no compaction configuration`)
        return formatCompactionConfig(found)
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/:dataSource`,
      access: config('WRITE'),
      summary:
        'Delete the compaction configuration of a datasource; the datasource is no longer compacted automatically',
      answers: [emptyAnswer],
      handle: async ({ params, audit }) => {
        const dataSource = params.dataSource as string
        if (!(await deleteCompactionConfig(database, dataSource, audit, clock.now()))) {
          throw notFound(`Datasource [${dataSource}] has no compaction configuration`)
        }
      },
    }),
    route({
      method: 'GET',
      path: `${path}/:dataSource/history`,
      access: config('READ'),
      summary:
        "Get the history of a datasource's compaction configuration, oldest change first; with `count`, only the newest changes are listed, newest first",
      query: historyParameters,
      answers: [jsonAnswer(compactionHistoryShape)],
      handle: async ({ params, query, caller }) => {
        const dataSource = params.dataSource as string
        if (!(await mayAccess(caller, dataSource, 'SEE'))) return []
        return new JsonPieces(compactionHistory(database, dataSource, false, query))
      },
    }),
  ]
}
