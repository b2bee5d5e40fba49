import { randomUUID } from 'node:crypto'
import { conflict, describeError, notFound, unavailable } from '@svc/domain/failure'
import type { Settings } from '@svc/shared/config'
import { baseUrlOf } from '@svc/shared/discovery'
import {
  type AnnouncedNode,
  copyStore,
  createDatabase,
  type Database,
  hasCopy,
  initialState,
  loadNodes,
  loadReset,
  restoreStore,
  saveReset,
  whileServersWait,
} from '@svc/shared/postgres'
import { deleteQueues } from '@svc/shared/redis'
import { resetPath, type ServiceContext } from '@svc/shared/service'
import { keepFiles, restoreFiles } from './snapshot-files.ts'

/** The context of resets. */
export type ResetContext = Pick<ServiceContext, 'client' | 'database' | 'logger' | 'node' | 'settings'>

/** The state of a reset. */
export interface ResetState {
  readonly state: 'RUNNING' | 'SUCCESS' | 'FAILED'
  readonly problem: string | null
}

/** Servers stop their work within ten seconds. */
const maxStopMs = 12_000

/** In addition, they load the new state. */
const maxResetMs = 60_000

// It outlasts the work of this server, which the reset replaces.
let inProgress: string | undefined

/** Stores the current state of the cluster under a name. Replaces an earlier snapshot of that name. */
export async function takeSnapshot({ settings, database }: ResetContext, name: string): Promise<void> {
  await keepFiles(settings, name, true)
  await copyStore(database, name)
  // The files that were written in the meantime, because the copy of the store may refer to them.
  await keepFiles(settings, name, false)
}

/**
 * Starts replacing the state of the cluster with a snapshot, or with the initial state. Returns the ID of the reset. Throws
 * notFound if there is no such snapshot, and conflict if another reset is in progress.
 */
export async function beginReset(context: ResetContext, snapshot: string | undefined): Promise<string> {
  const { database, settings } = context
  if (snapshot !== undefined && !(await hasCopy(database, snapshot)))
    throw notFound(`Snapshot [${snapshot}] does not exist`)
  if (!(await hasCopy(database, initialState)))
    throw unavailable(
      'No coordinator with [svc.testing.enabled] has stored the initial state yet; try again later',
    )
  const nodes = await liveServers(database, settings)
  if (inProgress !== undefined) throw conflict(`Reset [${inProgress}] is in progress`)
  const id = randomUUID()
  inProgress = id
  void resetCluster(context, { id, snapshot, nodes }).finally(() => {
    inProgress = undefined
  })
  return id
}

/** Returns the state of the last reset. It is complete when all servers work with the new state. */
export async function stateOfReset(
  { database, settings }: Pick<ResetContext, 'database' | 'settings'>,
  id: string,
): Promise<ResetState> {
  if (inProgress === id) return { state: 'RUNNING', problem: null }
  const reset = await loadReset(database, id)
  if (reset === undefined) throw notFound(`Reset [${id}] does not exist: expected the ID of the latest reset`)
  const { servers, problem } = reset
  if (problem !== null) return { state: 'FAILED', problem }
  const live = new Set((await liveServers(database, settings)).map(({ name }) => name))
  return { state: servers.every((name) => live.has(name)) ? 'SUCCESS' : 'RUNNING', problem }
}

const liveServers = (database: Database, settings: Settings): Promise<AnnouncedNode[]> =>
  loadNodes(database, settings.get('svc.discovery.timeout'))

interface Reset {
  readonly id: string
  readonly snapshot: string | undefined
  readonly nodes: readonly AnnouncedNode[]
}

/** Uses a connection of its own, because the work of this server ends in the meantime. */
async function resetCluster(context: ResetContext, { id, snapshot, nodes }: Reset): Promise<void> {
  const { settings, logger } = context
  const database = createDatabase(settings, { connections: 1, applicationName: 'svc reset' })
  const servers = nodes.map(({ name }) => name)
  try {
    const begin = () => Promise.all(nodes.map((one) => resetServer(context, one)))
    await whileServersWait(
      database,
      { servers: nodes.length, begin, timeoutMs: maxStopMs },
      async (transaction) => {
        const state = snapshot ?? initialState
        await restoreStore(transaction, state)
        await Promise.all([deleteQueues(settings), restoreFiles(settings, state)])
      },
    )
    await saveReset(database, { id, servers, problem: null })
    logger.info('The cluster was reset', { snapshot: snapshot ?? null })
  } catch (error) {
    const problem = describeError(error)
    logger.error('Failed to reset the cluster', { error: problem })
    await saveReset(database, { id, servers, problem }).catch(() => undefined)
  } finally {
    await database.close()
  }
}

/** Makes a server take part in the reset. Resolves when it works with the new state. */
async function resetServer({ client }: Pick<ResetContext, 'client'>, server: AnnouncedNode): Promise<void> {
  await client.call(baseUrlOf(server), { method: 'POST', path: resetPath, timeoutMs: maxResetMs })
}
