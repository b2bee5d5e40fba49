import { described, optional, readFields, readText, refuse } from '@svc/domain/validation'
import { emptyAnswer, jsonAnswer, jsonBody, type Route, route, securityConfig } from '@svc/shared/http'
import { assertTestable } from '@svc/shared/service'
import * as z from 'zod'
import { beginReset, type ResetContext, stateOfReset, takeSnapshot } from './reset-cluster.ts'

const path = (rest: string): string => `/svc/indexer/v1/testing${rest}`

const namePattern = '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}$'

const readSnapshotName = described(
  { type: 'string', pattern: namePattern },
  (json: unknown, field: string): string => {
    const name = readText(json, field)
    if (!new RegExp(namePattern).test(name))
      throw refuse(
        field,
        name,
        'a name of up to 40 letters, digits, [_], [.], and [-] that does not begin with [.] or [-]',
      )
    return name
  },
)

const readReset = readFields({ snapshot: optional(readSnapshotName) })
const readSnapshot = readFields({ name: readSnapshotName })

const begunShape = z.object({ id: z.string() })
const resetShape = z
  .object({ state: z.enum(['RUNNING', 'SUCCESS', 'FAILED']), problem: z.string().nullable() })
  .meta({ title: 'Reset' })

/** Returns the endpoints that replace the state of the cluster, for tests. */
export function resetRoutes(context: ResetContext): Route[] {
  const { settings } = context
  return [
    route({
      method: 'POST',
      path: path('/snapshots'),
      access: securityConfig('WRITE'),
      summary: 'Save the state of the cluster as a named snapshot, so that tests can return to it',
      body: jsonBody(readSnapshot),
      answers: [emptyAnswer],
      handle: async ({ body }) => {
        assertTestable(settings)
        await takeSnapshot(context, body.name)
      },
    }),
    route({
      method: 'POST',
      path: path('/resets'),
      access: securityConfig('WRITE'),
      summary:
        'Start resetting the cluster to a snapshot or to its initial state; returns 409 if a reset is in progress',
      body: jsonBody(readReset),
      answers: [jsonAnswer(begunShape)],
      failures: ['conflict', 'notFound'],
      handle: async ({ body }) => {
        assertTestable(settings)
        return { id: await beginReset(context, body.snapshot ?? undefined) }
      },
    }),
    route({
      method: 'GET',
      path: path('/resets/:reset'),
      access: securityConfig('READ'),
      summary: 'Get the state of the latest reset; a reset is complete when all servers are available again',
      answers: [jsonAnswer(resetShape)],
      handle: async ({ params }) => {
        assertTestable(settings)
        return await stateOfReset(context, params.reset!)
      },
    }),
  ]
}
