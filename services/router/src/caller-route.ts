import { formatInstant } from '@svc/domain/time'
import { omittable, readRulesName } from '@svc/domain/validation'
import { authenticated, jsonAnswer, type Route, route } from '@svc/shared/http'
import { allowsEverything, type Caller, mayAccess } from '@svc/shared/security'
import type { ServiceContext } from '@svc/shared/service'
import * as z from 'zod'

const callerQuery = { dataSource: omittable(readRulesName) }

const grantShape = z.object({ read: z.boolean(), write: z.boolean() })
const callerShape = z
  .object({
    identity: z.string(),
    state: grantShape.describe('Permissions on the state of the cluster'),
    config: grantShape.describe('Permissions on the configuration of the cluster'),
    security: grantShape.describe('Permissions on users and roles'),
    datasource: grantShape
      .nullable()
      .describe('Permissions on the datasource in the `dataSource` parameter; null without this parameter'),
    anyDatasource: grantShape.describe('Whether the caller may read, or write to, at least one datasource'),
    storesRoles: z.boolean().describe('Whether the cluster stores users and roles'),
    now: z.iso.datetime().describe('The current time of the cluster'),
    simulation: z.boolean().describe('Whether faults can be injected'),
    simulatedClock: z.boolean().describe('Whether the cluster has a simulated clock, which can be moved'),
    authorityFile: z
      .string()
      .nullable()
      .describe(
        'Path of the PEM file with the certificate authorities that the router trusts, on the machine of the router; null if unknown, or if the caller lacks READ on CONFIG',
      ),
  })
  .meta({ title: 'Caller' })

/** Returns the endpoint that shows a page who is logged in, and what that user may do. */
export const callerRoute = ({
  settings,
  clock,
  simulatedClock,
}: Pick<ServiceContext, 'settings' | 'clock' | 'simulatedClock'>): Route =>
  route({
    method: 'GET',
    path: '/svc/router/v1/caller',
    access: authenticated,
    summary: 'Get the name and permissions of the caller',
    query: callerQuery,
    answers: [jsonAnswer(callerShape)],
    handle: async ({ caller, query: { dataSource } }) => ({
      identity: caller.identity,
      state: grantOf(caller, 'STATE', 'STATE'),
      config: grantOf(caller, 'CONFIG', 'CONFIG'),
      security: grantOf(caller, 'CONFIG', 'security'),
      datasource:
        dataSource === undefined
          ? null
          : {
              read: await mayAccess(caller, dataSource),
              write: await mayAccess(caller, dataSource, 'WRITE'),
            },
      anyDatasource: {
        read: caller.hasAny('READ', 'DATASOURCE'),
        write: caller.hasAny('WRITE', 'DATASOURCE'),
      },
      storesRoles: settings.get('svc.auth.authorizers').some((name) => !allowsEverything(settings, name)),
      now: formatInstant(clock.now()),
      simulation: settings.get('svc.simulation.enabled'),
      simulatedClock: simulatedClock !== undefined,
      authorityFile: caller.can('READ', 'CONFIG', 'CONFIG') ? authorityFileOf(settings) : null,
    }),
  })

/** Returns the file with the authorities that the servers of the cluster trust, if curl can read it. */
function authorityFileOf(settings: Pick<ServiceContext, 'settings'>['settings']): string | null {
  const isPem = settings.get('svc.client.https.trustStoreType') === 'pem'
  return (isPem && settings.get('svc.client.https.trustStorePath')) || null
}

const grantOf = (caller: Caller, type: 'STATE' | 'CONFIG', name: string) => ({
  read: caller.can('READ', type, name),
  write: caller.can('WRITE', type, name),
})
