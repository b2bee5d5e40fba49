import { randomUUID } from 'node:crypto'
import { forbidden, notFound } from '@svc/domain/failure'
import {
  type Fault,
  faultKinds,
  faultRequestSchema,
  faultsAt,
  parseFaultRequest,
  switchOn,
} from '@svc/domain/faults'
import { formatInstant } from '@svc/domain/time'
import { roles } from '@svc/shared/config'
import { faultsConfigName, faultsPath, loadFaults } from '@svc/shared/faults'
import { type AuditInfo, jsonAnswer, jsonBody, type Route, route, state } from '@svc/shared/http'
import { saveConfig } from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'
import { shapeOf, unparsed } from '@svc/shared/wire'
import { z } from 'zod'
import type { ServerInventory } from '../inventory/index.ts'

// Enough of a random id to tell the faults of a cluster apart.
const idDigits = 8

const faultShape = z
  .object({
    id: z.string(),
    kind: z.enum(faultKinds),
    target: z.string(),
    probability: z.number(),
    delayMs: z.int(),
    since: z.string(),
    until: z.string().nullable(),
  })
  .meta({ title: 'Fault' })
const clearedShape = z.object({ cleared: z.int() })

/** The endpoints of faults that users switch on and off, where the cluster is a simulation. */
export function faultRoutes(
  { database, settings, discovery, clock }: ServiceContext,
  servers: Pick<ServerInventory, 'servers'>,
): Route[] {
  const checkSimulated = (): void => {
    if (settings.get('svc.simulation.enabled')) return
    throw forbidden(
      'Faults are for simulations only; set [svc.simulation.enabled] to true on every server, never on a cluster with data of worth',
    )
  }
  const load = async () => {
    const { faults, revision } = await loadFaults(database)
    return { faults: faultsAt(faults, Date.now()), revision }
  }
  const save = (faults: readonly Fault[], revision: number, audit: AuditInfo) =>
    saveConfig(database, faultsConfigName, JSON.stringify(faults), revision, audit, clock.now())
  /** Also virtual servers, which are no processes, and what is struck already, which may be hard to see now. */
  const targets = (faults: readonly Fault[]): string[] => [
    ...new Set([
      ...roles,
      ...roles.flatMap((role) => discovery.nodes(role).map(({ name }) => name)),
      ...servers.servers().map(({ name }) => name),
      ...faults.map(({ target }) => target),
    ]),
  ]

  return [
    route({
      method: 'GET',
      path: faultsPath,
      access: state('READ'),
      summary: 'The faults that are switched on',
      answers: [jsonAnswer(z.array(faultShape))],
      handle: async () => {
        checkSimulated()
        return (await load()).faults.map(describe)
      },
    }),
    route({
      method: 'POST',
      path: faultsPath,
      access: state('WRITE'),
      summary: 'Switches a fault on: latency, cut, kill or slow-disk, of a role or a server',
      body: jsonBody(unparsed(shapeOf(faultRequestSchema()))),
      answers: [jsonAnswer(faultShape)],
      failures: ['conflict'],
      handle: async ({ body, audit }) => {
        checkSimulated()
        await discovery.refresh()
        const { faults, revision } = await load()
        const fault = switchOn(
          parseFaultRequest(body, targets(faults)),
          randomUUID().slice(0, idDigits),
          Date.now(),
        )
        await save([...faults, fault], revision, audit)
        return describe(fault)
      },
    }),
    route({
      method: 'DELETE',
      path: faultsPath,
      access: state('WRITE'),
      summary: 'Switches all faults off',
      answers: [jsonAnswer(clearedShape)],
      failures: ['conflict'],
      handle: async ({ audit }) => {
        checkSimulated()
        const { faults, revision } = await load()
        if (faults.length > 0) await save([], revision, audit)
        return { cleared: faults.length }
      },
    }),
    route({
      method: 'DELETE',
      path: `${faultsPath}/:fault`,
      access: state('WRITE'),
      summary: 'Switches a fault off',
      answers: [jsonAnswer(clearedShape)],
      failures: ['conflict'],
      handle: async ({ params, audit }) => {
        checkSimulated()
        const { faults, revision } = await load()
        const others = faults.filter(({ id }) => id !== params.fault)
        if (others.length === faults.length) {
          const on = faults.map(({ id }) => id).join(', ')
          throw notFound(`Fault [${params.fault}] is not on; there ${on === '' ? 'is none' : `are [${on}]`}`)
        }
        await save(others, revision, audit)
        return { cleared: 1 }
      },
    }),
  ]
}

function describe({ since, until, once: _, ...fault }: Fault) {
  return { ...fault, since: formatInstant(since), until: until === null ? null : formatInstant(until) }
}
