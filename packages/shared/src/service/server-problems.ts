import { describeError } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import {
  createDatabase,
  type Database,
  loadServerProblems,
  removeServerProblem,
  type ServerProblem,
  saveServerProblem,
} from '../postgres/index.ts'
import { createProblemLog, type Logger, type Loop, type Readiness, startLoop } from '../runtime/index.ts'

const savePeriodMs = 1000

/** Time after which a problem expires. A server in a restart loop reports it at every start. */
export const problemLifeMs = 60_000

// The process is about to exit, which must not take long.
const lastSaveMs = 400

type ReportingServer = Pick<ServerProblem, 'role' | 'name'>

/** Publishes the problems of this server in the metadata store while it has any. */
export function saveProblems(database: Database, server: ReportingServer, readiness: Readiness): Loop {
  // If this process got this far, problems from an earlier process of this server are over.
  let savedProblem: string | undefined = 'unknown'
  let timer: NodeJS.Timeout | undefined
  const saveProblem = async (): Promise<void> => {
    const problem = readiness.problems()
    if (problem === savedProblem && problem === '') return
    if (problem === '') await removeServerProblem(database, server)
    else await saveServerProblem(database, { ...server, problem })
    savedProblem = problem
  }
  // Nothing can be published while the metadata store is unavailable.
  const loop = startLoop(problemLifeMs / 4, saveProblem, () => savePeriodMs)
  // Waits first, because a problem may disappear right away.
  const unwatch = readiness.onProblemsChange(() => {
    timer ??= setTimeout(() => {
      timer = undefined
      loop.wake()
    }, savePeriodMs)
  })
  return {
    wake: loop.wake,
    stop: async () => {
      unwatch()
      clearTimeout(timer)
      await loop.stop()
    },
  }
}

/** Publishes why a process exits because of its configuration, if the metadata store is available. */
export async function saveLastProblem(
  settings: Settings,
  server: ReportingServer,
  problem: string,
): Promise<void> {
  const savedProblem = (async () => {
    const database = createDatabase(settings, { connections: 1, applicationName: 'svc exit report' })
    await saveServerProblem(database, { ...server, problem })
    await database.close()
  })()
  const late = new Promise<void>((resolve) => setTimeout(resolve, lastSaveMs))
  // If it cannot be published, there is only the message on the console.
  await Promise.race([savedProblem.catch(() => undefined), late])
}

/** Logs the problems of other servers: immediately when they change, then at growing intervals. */
export function logProblems(database: Database, logger: Logger, self: () => string): Loop {
  const logs = new Map<string, ReturnType<typeof createProblemLog>>()
  const own = createProblemLog(logger)
  const look = async (): Promise<void> => {
    const problems = await loadServerProblems(database, problemLifeMs)
    const affected = new Set<string>()
    for (const { role, name, problem } of problems) {
      const server = `${role} ${name}`
      if (server === self()) continue
      affected.add(server)
      const log = logs.get(server) ?? createProblemLog(logger)
      logs.set(server, log)
      log.report(`Server [${server}] reported a problem: ${problem}`, { from: server })
    }
    for (const [server, log] of logs) {
      if (affected.has(server)) continue
      log.over(`Server [${server}] has recovered`)
      logs.delete(server)
    }
    own.over('Resumed checking for problems reported by other servers')
  }
  return startLoop(savePeriodMs, look, (error) =>
    own.report('Failed to check for problems reported by other servers', { error: describeError(error) }),
  )
}
