import {
  defaultClusterConfig,
  formatClusterConfig,
  formatCompactionConfig,
  parseClusterConfig,
  parseCompactionConfig,
} from '@svc/domain/compaction-config'
import { methodNotAllowed, notFound } from '@svc/domain/failure'
import { compactionHistory, compactionHistoryQuery } from '@svc/shared/compaction'
import { authenticated, config, emptyAnswer, jsonAnswer, jsonBody, type Route, route } from '@svc/shared/http'
import {
  changeClusterCompactionConfig,
  deleteCompactionConfig,
  loadClusterCompactionConfig,
  loadCompactionConfig,
  loadCompactionConfigs,
  saveCompactionConfig,
} from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { compactionConfigShape, compactionHistoryShape, wholeCompactionConfigShape } from '@svc/shared/shapes'
import { shapedParser } from '@svc/shared/wire'
import { z } from 'zod'

const path = '/svc/coordinator/v1/config/compaction'

const numberParameter = z
  .string({ error: 'one text, given once' })
  .regex(/^-?\d{1,12}(\.\d{1,12})?$/, { error: 'a number such as 0.1' })
  .transform(Number)

const allConfigsShape = z
  .object({
    compactionConfigs: z.array(wholeCompactionConfigShape),
    compactionTaskSlotRatio: z.number(),
    maxCompactionTaskSlots: z.int(),
    compactionPolicy: z.looseObject({ type: z.string() }),
    useSupervisors: z.boolean(),
    engine: z.string(),
    storeCompactionStatePerSegment: z.boolean(),
  })
  .meta({ title: 'CompactionConfigs' })

/** The endpoints of the configurations that the coordinator's own compaction duty follows. */
export function compactionConfigRoutes({ database, clock }: ServiceContext): Route[] {
  return [
    route({
      method: 'GET',
      path,
      access: config('READ'),
      summary: 'The configurations of all datasources, and what holds for the cluster',
      answers: [jsonAnswer(allConfigsShape)],
      handle: async ({ caller }) => {
        const configs = (await loadCompactionConfigs(database)).filter(({ dataSource }) =>
          caller.sees(dataSource),
        )
        const cluster = await loadClusterCompactionConfig(database)
        return { compactionConfigs: configs.map(formatCompactionConfig), ...formatClusterConfig(cluster) }
      },
    }),
    route({
      method: 'POST',
      path,
      access: config('WRITE'),
      summary: 'Sets the configuration of the datasource that the body names',
      body: jsonBody(shapedParser(compactionConfigShape, (json) => parseCompactionConfig(json))),
      answers: [emptyAnswer],
      handle: ({ body, audit }) => saveCompactionConfig(database, body, audit, clock.now()),
    }),
    route({
      method: 'POST',
      path: `${path}/taskslots`,
      access: config('WRITE'),
      summary: 'Sets how many task slots compaction may take; what is not given takes its default',
      query: z.object({ ratio: numberParameter.optional(), max: numberParameter.optional() }),
      answers: [emptyAnswer],
      handle: async ({ query, audit }) => {
        const { ratio, max } = query
        const { compactionTaskSlotRatio, maxCompactionTaskSlots } = parseClusterConfig({
          compactionTaskSlotRatio: ratio ?? defaultClusterConfig.compactionTaskSlotRatio,
          maxCompactionTaskSlots: max ?? defaultClusterConfig.maxCompactionTaskSlots,
        })
        await changeClusterCompactionConfig(
          database,
          (present) => ({ ...present, compactionTaskSlotRatio, maxCompactionTaskSlots }),
          audit,
          clock.now(),
        )
      },
    }),
    route({
      method: 'GET',
      path: `${path}/taskslots`,
      access: authenticated,
      summary: 'Not offered: task slots are only set here',
      answers: [],
      failures: ['methodNotAllowed'],
      handle: ({ response }) => {
        response.setHeader('Allow', 'POST')
        throw methodNotAllowed('Method [GET] is not offered here; expected [POST]')
      },
    }),
    route({
      method: 'GET',
      path: `${path}/:dataSource`,
      access: config('READ'),
      summary: 'The configuration of a datasource',
      answers: [jsonAnswer(wholeCompactionConfigShape)],
      handle: async ({ params, caller }) => {
        const dataSource = params.dataSource as string
        const found = caller.sees(dataSource) ? await loadCompactionConfig(database, dataSource) : undefined
        if (found === undefined) throw notFound(`Datasource [${dataSource}] has no compaction configuration`)
        return formatCompactionConfig(found)
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/:dataSource`,
      access: config('WRITE'),
      summary: 'Removes the configuration of a datasource: it is no longer compacted',
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
      summary: 'What held for a datasource after each change; with count the newest ones, newest first',
      query: compactionHistoryQuery,
      answers: [jsonAnswer(compactionHistoryShape)],
      handle: async ({ params, query, caller }) => {
        const dataSource = params.dataSource as string
        return caller.sees(dataSource) ? await compactionHistory(database, dataSource, false, query) : []
      },
    }),
  ]
}
