import { describeError } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import {
  createDatabase,
  type Database,
  loadServerTroubles,
  removeServerTrouble,
  type ServerTrouble,
  saveServerTrouble,
} from '../postgres/index.ts'
import { createTroubleLog, type Logger, type Loop, type Readiness, startLoop } from '../runtime/index.ts'

const savePeriodMs = 1000

/** Time after which a problem expires. A server in a restart loop reports it at every start. */
export const troubleLifeMs = 60_000

// The process is about to exit, which must not take long.
const lastSaveMs = 400

type TroubledServer = Pick<ServerTrouble, 'role' | 'name'>

/** Publishes the problems of this server in the metadata store while it has any. */
export function saveTroubles(database: Database, server: TroubledServer, readiness: Readiness): Loop {
  // If this process got this far, problems from an earlier process of this server are over.
  let savedTrouble: string | undefined = 'unknown'
  let age = 0
  const saveTrouble = async (): Promise<void> => {
    const trouble = readiness.troubles()
    age += savePeriodMs
    if (trouble === savedTrouble && (trouble === '' || age < troubleLifeMs / 4)) return
    if (trouble === '') await removeServerTrouble(database, server)
    else await saveServerTrouble(database, { ...server, trouble })
    savedTrouble = trouble
    age = 0
  }
  // Nothing can be published while the metadata store is unavailable.
  return startLoop(savePeriodMs, saveTrouble, () => undefined)
}

/** Publishes why a process exits because of its configuration, if the metadata store is available. */
export async function saveLastTrouble(
  settings: Settings,
  server: TroubledServer,
  trouble: string,
): Promise<void> {
  const savedTrouble = (async () => {
    const database = createDatabase(settings, { connections: 1, applicationName: 'svc exit report' })
    await saveServerTrouble(database, { ...server, trouble })
    await database.close()
  })()
  const late = new Promise<void>((resolve) => setTimeout(resolve, lastSaveMs))
  // If it cannot be published, there is only the message on the console.
  await Promise.race([savedTrouble.catch(() => undefined), late])
}

/** Logs the problems of other servers: immediately when they change, then at growing intervals. */
export function logTroubles(database: Database, logger: Logger, self: () => string): Loop {
  const logs = new Map<string, ReturnType<typeof createTroubleLog>>()
  const own = createTroubleLog(logger)
  const look = async (): Promise<void> => {
    const troubles = await loadServerTroubles(database, troubleLifeMs)
    const troubled = new Set<string>()
    for (const { role, name, trouble } of troubles) {
      const server = `${role} ${name}`
      if (server === self()) continue
      troubled.add(server)
      const log = logs.get(server) ?? createTroubleLog(logger)
      logs.set(server, log)
      log.report(`Server [${server}] reported a problem: ${trouble}`, { from: server })
    }
    for (const [server, log] of logs) {
      if (troubled.has(server)) continue
      log.over(`Server [${server}] has recovered`)
      logs.delete(server)
    }
    own.over('Resumed checking for problems reported by other servers')
  }
  return startLoop(savePeriodMs, look, (error) =>
    own.report('Failed to check for problems reported by other servers', { error: describeError(error) }),
  )
}
