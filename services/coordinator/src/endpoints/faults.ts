import { randomUUID } from 'node:crypto'
import { forbidden, notFound } from '@svc/domain/failure'
import {
  type Fault,
  type FaultTargets,
  faultKinds,
  faultRequestSchema,
  faultsAt,
  faultsPath,
  parseFaultRequest,
  switchOn,
} from '@svc/domain/faults'
import { formatInstant } from '@svc/domain/time'
import { readLater } from '@svc/domain/validation'
import { type Role, roles } from '@svc/shared/config'
import { faultsConfigName, loadFaults } from '@svc/shared/faults'
import { type AuditInfo, jsonAnswer, jsonBody, type Route, route, state } from '@svc/shared/http'
import { saveConfig } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import * as z from 'zod'
import type { ServerInventory } from '../inventory/index.ts'

// Long enough to keep the IDs of a cluster's faults unique.
const idDigits = 8

const faultShape = z
  .object({
    id: z.string(),
    kind: z.enum(faultKinds),
    target: z.string(),
    from: z.string().nullable(),
    probability: z.number(),
    delayMs: z.int(),
    since: z.string(),
    until: z.string().nullable(),
    once: z.boolean().meta({ description: 'Whether it is a kill that kills each server at most once' }),
  })
  .meta({ title: 'Fault' })
const clearedShape = z.object({ cleared: z.int() })

type FaultsContext = Pick<ServiceContext, 'database' | 'settings' | 'discovery' | 'clock'>

/** Returns the endpoints that inject and clear faults. They work only if the cluster is a simulation. */
export function faultRoutes(context: FaultsContext, servers: Pick<ServerInventory, 'servers'>): Route[] {
  const active = openActiveFaults(context)
  return [...injectionRoutes(active, context, servers), ...clearingRoutes(active)]
}

/** The active faults of the cluster, in the metadata store. */
interface ActiveFaults {
  /** Throws forbidden if the cluster is not a simulation. */
  checkSimulated(): void
  load(): Promise<{ readonly faults: readonly Fault[]; readonly revision: number }>
  /** Replaces the faults. Throws conflict if they have changed since that revision. */
  save(faults: readonly Fault[], revision: number, audit: AuditInfo): Promise<unknown>
}

const openActiveFaults = ({
  database,
  settings,
  clock,
}: Pick<FaultsContext, 'database' | 'settings' | 'clock'>): ActiveFaults => ({
  checkSimulated: () => {
    if (settings.get('svc.simulation.enabled')) return
    throw forbidden(
      'Faults are available in simulations only: set [svc.simulation.enabled] to [true] on every server, but never on a cluster with valuable data',
    )
  },
  load: async () => {
    const { faults, revision } = await loadFaults(database)
    return { faults: faultsAt(faults, Date.now()), revision }
  },
  save: (faults, revision, audit) =>
    saveConfig(database, faultsConfigName, JSON.stringify(faults), revision, audit, clock.now()),
})

/** The endpoints that list and inject faults. */
function injectionRoutes(
  active: ActiveFaults,
  { discovery }: Pick<FaultsContext, 'discovery'>,
  servers: Pick<ServerInventory, 'servers'>,
): Route[] {
  /** Includes virtual servers, which are not processes, and the targets of active faults, which may be unreachable now. */
  const targets = (faults: readonly Fault[]): FaultTargets => {
    const known = [
      ...roles.flatMap((role) => discovery.nodes(role).map(({ name }) => name)),
      ...servers.servers().map(({ name }) => name),
      ...faults.flatMap(({ target, from }) => [target, from ?? target]),
    ]
    return { roles, servers: [...new Set(known)].filter((name) => !roles.includes(name as Role)) }
  }
  return [
    route({
      method: 'GET',
      path: faultsPath,
      access: state('READ'),
      summary: 'List the active faults',
      answers: [jsonAnswer(z.array(faultShape))],
      handle: async () => {
        active.checkSimulated()
        return (await active.load()).faults.map(describe)
      },
    }),
    route({
      method: 'POST',
      path: faultsPath,
      access: state('WRITE'),
      summary:
        'Inject a fault into one server or all servers of a role: `latency`, `cut`, `kill`, or `slow-disk`. With `from`, it affects only the requests from one server to another',
      body: jsonBody(readLater(faultRequestSchema)),
      answers: [jsonAnswer(faultShape)],
      failures: ['conflict'],
      handle: async ({ body, audit }) => {
        active.checkSimulated()
        await discovery.refresh()
        const { faults, revision } = await active.load()
        const fault = switchOn(
          parseFaultRequest(body, targets(faults)),
          randomUUID().slice(0, idDigits),
          Date.now(),
        )
        await active.save([...faults, fault], revision, audit)
        return describe(fault)
      },
    }),
  ]
}

/** The endpoints that clear all faults, or one. */
function clearingRoutes(active: ActiveFaults): Route[] {
  return [
    route({
      method: 'DELETE',
      path: faultsPath,
      access: state('WRITE'),
      summary: 'Clear all faults',
      answers: [jsonAnswer(clearedShape)],
      failures: ['conflict'],
      handle: async ({ audit }) => {
        active.checkSimulated()
        const { faults, revision } = await active.load()
        if (faults.length > 0) await active.save([], revision, audit)
        return { cleared: faults.length }
      },
    }),
    route({
      method: 'DELETE',
      path: `${faultsPath}/:fault`,
      access: state('WRITE'),
      summary: 'Clear a fault',
      answers: [jsonAnswer(clearedShape)],
      failures: ['conflict'],
      handle: async ({ params, audit }) => {
        active.checkSimulated()
        const { faults, revision } = await active.load()
        const others = faults.filter(({ id }) => id !== params.fault)
        if (others.length === faults.length) {
          const on = faults.map(({ id }) => id).join(', ')
          throw notFound(
            `Fault [${params.fault}] does not exist: ${on === '' ? 'no faults are active' : `expected one of [${on}]`}`,
          )
        }
        await active.save(others, revision, audit)
        return { cleared: 1 }
      },
    }),
  ]
}

function describe({ since, until, ...fault }: Fault) {
  return { ...fault, since: formatInstant(since), until: until === null ? null : formatInstant(until) }
}
