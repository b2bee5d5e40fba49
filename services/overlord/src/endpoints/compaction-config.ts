import type { IncomingMessage } from 'node:http'
import {
  assertNoNewZeroSlots,
  type ClusterCompactionConfig,
  type CompactionConfig,
  formatClusterConfig,
  formatCompactionConfig,
  readClusterConfig,
  readCompactionConfig,
} from '@svc/domain/compaction'
import { conflict, invalidInput, notFound } from '@svc/domain/failure'
import { jsonObjectOf } from '@svc/domain/json'
import {
  compactionHistory,
  compactionHistoryShape,
  fullClusterCompactionConfigShape,
  fullCompactionConfigShape,
} from '@svc/shared/compaction'
import {
  type AuditInfo,
  authenticated,
  config,
  datasource,
  emptyAnswer,
  entityTag,
  JsonPieces,
  jsonAnswer,
  jsonBody,
  Reply,
  type Route,
  route,
  updated,
  versionCheck,
  versionOfText,
} from '@svc/shared/http'
import {
  type CheckReplaced,
  changeClusterCompactionConfig,
  compactionSupervisorId,
  type Database,
  deleteCompactionConfig,
  loadClusterCompactionConfig,
  loadCompactionConfig,
  loadCompactionConfigs,
  loadCompactionSupervisor,
  loadCompactionSupervisors,
  saveCompactionConfig,
  saveCompactionSupervisor,
  terminateCompactionSupervisor,
} from '@svc/shared/postgres'
import { permittedItems } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import { historyParameters } from '@svc/shared/wire'
import * as z from 'zod'

const path = (rest: string): string => `/svc/indexer/v1/compaction${rest}`

const oneConfig = path('/config/datasources/:dataSource')

type Context = Pick<ServiceContext, 'database' | 'clock'>

/**
 * The endpoints to configure compaction, no matter what runs it. They read and write supervisors if these are enabled,
 * or else the configurations for the coordinator's duty. `changed` is called after a change that may affect supervisors.
 */
export function compactionConfigRoutes({ database, clock }: Context, changed: () => void): Route[] {
  const configs = configsInUse({ database, clock })
  return [
    ...clusterConfigRoutes({ database, clock }, changed),
    ...readConfigRoutes(configs),
    ...changeConfigRoutes(configs, changed),
    route({
      method: 'GET',
      path: `${oneConfig}/history`,
      access: datasource('READ'),
      summary:
        "Get the history of a datasource's compaction configuration, oldest change first; with `count`, only the newest changes are listed, newest first",
      query: historyParameters,
      answers: [jsonAnswer(z.object({ entries: compactionHistoryShape }))],
      handle: async ({ params, query }) => {
        const dataSource = params.dataSource as string
        const entries = compactionHistory(database, dataSource, await usesSupervisors(database), query)
        return new JsonPieces(jsonObjectOf([['entries', entries]]))
      },
    }),
  ]
}

const usesSupervisors = async (database: Database): Promise<boolean> =>
  (await loadClusterCompactionConfig(database)).useSupervisors

type Configs = ReturnType<typeof configsInUse>

/** The stored configurations that are in use: those of supervisors if these are enabled, or else those of the duty. */
function configsInUse({ database, clock }: Context) {
  return {
    all: async (): Promise<CompactionConfig[]> =>
      (await usesSupervisors(database))
        ? (await loadCompactionSupervisors(database)).map((supervisor) => supervisor.config)
        : await loadCompactionConfigs(database),
    of: async (dataSource: string): Promise<CompactionConfig | undefined> =>
      (await usesSupervisors(database))
        ? (await loadCompactionSupervisor(database, compactionSupervisorId(dataSource)))?.config
        : await loadCompactionConfig(database, dataSource),
    save: async (config: CompactionConfig, audit: AuditInfo, check: CheckReplaced): Promise<void> =>
      (await usesSupervisors(database))
        ? await saveCompactionSupervisor(database, { config, suspended: false }, audit, clock.now(), check)
        : await saveCompactionConfig(database, config, audit, clock.now(), check),
    /** Returns false if there was none. */
    remove: async (dataSource: string, audit: AuditInfo, check: CheckReplaced): Promise<boolean> => {
      const remove = (await usesSupervisors(database))
        ? terminateCompactionSupervisor
        : deleteCompactionConfig
      return await remove(database, dataSource, audit, clock.now(), check)
    },
  }
}

function clusterConfigRoutes({ database, clock }: Context, changed: () => void): Route[] {
  return [
    route({
      method: 'GET',
      path: path('/isSupervisorEnabled'),
      access: config('READ'),
      summary: 'Check whether supervisors run compaction',
      answers: [jsonAnswer(z.boolean())],
      handle: () => usesSupervisors(database),
    }),
    route({
      method: 'GET',
      path: path('/config/cluster'),
      access: config('READ'),
      summary: 'Get the cluster-wide compaction configuration',
      answers: [jsonAnswer(fullClusterCompactionConfigShape)],
      handle: async () => {
        const present = await loadClusterCompactionConfig(database)
        return new Reply(200, formatClusterConfig(present), entityTag(versionOfCluster(present)))
      },
    }),
    route({
      method: 'POST',
      path: path('/config/cluster'),
      access: config('WRITE'),
      summary: 'Set the cluster-wide compaction configuration. Omitted fields are set to their defaults',
      body: jsonBody(readClusterConfig),
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async ({ body, audit, request }) => {
        const checkVersion = versionCheck(request, 'the cluster-wide compaction configuration')
        const replace = (present: ClusterCompactionConfig): ClusterCompactionConfig => {
          checkVersion(versionOfCluster(present))
          assertNoNewZeroSlots(body, present)
          return body
        }
        await changeClusterCompactionConfig(database, replace, audit, clock.now())
        changed()
        return updated
      },
    }),
  ]
}

function readConfigRoutes(configs: Configs): Route[] {
  return [
    route({
      method: 'GET',
      path: path('/config/datasources'),
      access: authenticated,
      summary: 'List the compaction configurations of the datasources that the caller may read',
      answers: [jsonAnswer(z.object({ compactionConfigs: z.array(fullCompactionConfigShape) }))],
      handle: async ({ caller }) => {
        const all = await configs.all()
        const readable = await permittedItems(caller, all, ({ dataSource }) => dataSource)
        return { compactionConfigs: readable.map(formatCompactionConfig) }
      },
    }),
    route({
      method: 'GET',
      path: oneConfig,
      access: datasource('READ'),
      summary: 'Get the compaction configuration of a datasource',
      answers: [jsonAnswer(fullCompactionConfigShape)],
      handle: async ({ params }) => {
        const dataSource = params.dataSource as string
        const found = await configs.of(dataSource)
        if (found === undefined) throw notFound(`Datasource [${dataSource}] has no compaction configuration`)
        return new Reply(200, formatCompactionConfig(found), entityTag(versionOf(found)))
      },
    }),
  ]
}

const versionOf = (config: CompactionConfig | undefined): string =>
  config === undefined ? 'none' : versionOfText(JSON.stringify(formatCompactionConfig(config)))

const versionOfCluster = (config: ClusterCompactionConfig): string =>
  versionOfText(JSON.stringify(formatClusterConfig(config)))

/** Returns the check of the configuration that a request requires with `If-Match`, or with `If-None-Match: *` if there is none. */
function replacedCheck(request: IncomingMessage, dataSource: string): CheckReplaced {
  const checkVersion = versionCheck(request, `the compaction configuration of [${dataSource}]`)
  const requiresAbsence = request.headers['if-none-match'] === '*'
  return (replaced) => {
    checkVersion(versionOf(replaced))
    if (requiresAbsence && replaced !== undefined)
      throw conflict(
        `Another request has added a compaction configuration of [${dataSource}] in the meantime`,
      )
  }
}

function changeConfigRoutes(configs: Configs, changed: () => void): Route[] {
  return [
    route({
      method: 'POST',
      path: oneConfig,
      access: datasource('WRITE'),
      summary: 'Set the compaction configuration of a datasource',
      body: jsonBody(readCompactionConfig),
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async ({ params, body, audit, request }) => {
        if (body.dataSource !== params.dataSource) {
          throw invalidInput(
            `Invalid value [${body.dataSource}] for [dataSource]: expected the datasource in the path, [${params.dataSource}]`,
            { field: 'dataSource' },
          )
        }
        await configs.save(body, audit, replacedCheck(request, body.dataSource))
        changed()
        return updated
      },
    }),
    route({
      method: 'DELETE',
      path: oneConfig,
      access: datasource('WRITE'),
      summary:
        'Delete the compaction configuration of a datasource; the datasource is no longer compacted automatically',
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async ({ params, audit, request }) => {
        const dataSource = params.dataSource as string
        if (!(await configs.remove(dataSource, audit, replacedCheck(request, dataSource)))) {
          throw notFound(`Datasource [${dataSource}] has no compaction configuration`)
        }
        changed()
        return updated
      },
    }),
  ]
}
