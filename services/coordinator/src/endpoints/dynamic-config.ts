import {
  coordinatorConfigName,
  coordinatorConfigSchema,
  readConfigChange,
  readCoordinatorConfig,
  warningsOfChange,
} from '@svc/shared/coordinator-dynamic-config'
import {
  config,
  emptyAnswer,
  entityTag,
  jsonAnswer,
  jsonBody,
  Reply,
  type Route,
  route,
  shapeOf,
  versionCheck,
} from '@svc/shared/http'
import { loadConfig, saveConfig } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { historyParameters } from '@svc/shared/wire'
import * as z from 'zod'
import { historyAnswer, historyEntryShape, warningsHeader } from '../answers/index.ts'

const path = '/svc/coordinator/v1/config'

/** Returns the endpoints for the dynamic configuration, which can be changed while the cluster runs. */
export function dynamicConfigRoutes({
  database,
  clock,
}: Pick<ServiceContext, 'database' | 'clock'>): Route[] {
  return [
    route({
      method: 'GET',
      path,
      access: config('READ'),
      summary: 'Get the dynamic configuration of the coordinator',
      answers: [jsonAnswer(shapeOf(coordinatorConfigSchema))],
      handle: async () => {
        const stored = await loadConfig(database, coordinatorConfigName)
        return new Reply(200, readCoordinatorConfig(stored), entityTag(stored?.revision ?? 0))
      },
    }),
    route({
      method: 'POST',
      path,
      access: config('WRITE'),
      summary: 'Change the given fields of the dynamic configuration; other fields keep their values',
      body: jsonBody(readConfigChange),
      answers: [emptyAnswer],
      failures: ['conflict'],
      handle: async ({ body, audit, request }) => {
        const stored = await loadConfig(database, coordinatorConfigName)
        const revision = stored?.revision ?? 0
        versionCheck(request, 'the dynamic configuration')(revision)
        const changed = { ...readCoordinatorConfig(stored), ...body }
        const value = JSON.stringify(changed)
        await saveConfig(database, coordinatorConfigName, value, revision, audit, clock.now())
        const warnings = warningsOfChange(body)
        if (warnings.length === 0) return undefined
        return new Reply(200, undefined, { 'X-Svc-Warnings': warningsHeader(warnings) })
      },
    }),
    route({
      method: 'GET',
      path: `${path}/history`,
      access: config('READ'),
      summary: 'List the changes to the dynamic configuration',
      query: historyParameters,
      answers: [jsonAnswer(z.array(historyEntryShape))],
      handle: ({ query }) => historyAnswer(database, { type: coordinatorConfigName, ...query }),
    }),
  ]
}
