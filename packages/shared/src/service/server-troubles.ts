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

const tellPeriodMs = 1000

// A server that is started again and again by its supervisor tells at each of its starts.
const believedMs = 60_000

// The process is about to end, and promised to do so soon.
const lastWordMs = 400

type TroubledServer = Pick<ServerTrouble, 'role' | 'name'>

/** Tells in the metadata store why this server cannot serve, for as long as that is so. */
export function tellTroubles(database: Database, server: TroubledServer, readiness: Readiness): Loop {
  // What a former process of this server has told is not true any more, if it got this far.
  let told: string | undefined = 'unknown'
  let age = 0
  const tell = async (): Promise<void> => {
    const trouble = readiness.troubles()
    age += tellPeriodMs
    if (trouble === told && (trouble === '' || age < believedMs / 4)) return
    if (trouble === '') await removeServerTrouble(database, server)
    else await saveServerTrouble(database, { ...server, trouble })
    told = trouble
    age = 0
  }
  // While the metadata store is away, nobody can be told this way.
  return startLoop(tellPeriodMs, tell, () => undefined)
}

/** Tells the last trouble of a process that ends because of its configuration, if the metadata store is at hand. */
export async function tellLastTrouble(
  settings: Settings,
  server: TroubledServer,
  trouble: string,
): Promise<void> {
  const told = (async () => {
    const database = createDatabase(settings, { connections: 1, applicationName: 'last word' })
    await saveServerTrouble(database, { ...server, trouble })
    await database.close()
  })()
  const late = new Promise<void>((resolve) => setTimeout(resolve, lastWordMs))
  // Nobody to tell it to: the message on the console is all there is.
  await Promise.race([told.catch(() => undefined), late])
}

/** Logs what servers tell of their troubles, each at once when it changes and then at growing distances. */
export function logTroubles(database: Database, logger: Logger, self: () => string): Loop {
  const logs = new Map<string, ReturnType<typeof createTroubleLog>>()
  const own = createTroubleLog(logger)
  const look = async (): Promise<void> => {
    const troubles = await loadServerTroubles(database, believedMs)
    const troubled = new Set<string>()
    for (const { role, name, trouble } of troubles) {
      const server = `${role} ${name}`
      if (server === self()) continue
      troubled.add(server)
      const log = logs.get(server) ?? createTroubleLog(logger)
      logs.set(server, log)
      log.tell(`Server [${server}] cannot serve: ${trouble}`, { from: server })
    }
    for (const [server, log] of logs) {
      if (troubled.has(server)) continue
      log.over(`Server [${server}] has no trouble any more`)
      logs.delete(server)
    }
    own.over('The troubles of servers can be read again')
  }
  return startLoop(tellPeriodMs, look, (error) =>
    own.tell('The troubles of servers cannot be read', { error: describeError(error) }),
  )
}
