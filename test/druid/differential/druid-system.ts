import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { repositoryRoot } from '@svc/cli/home'
import {
  type Answer,
  createHttpClient,
  type HttpClient,
  type SentRequest,
  waitUntil,
} from '@svc/shared/testing'
import { newTestFolder, removeTestFolder } from '../../support/test-folder.ts'
import { authenticator, basicProperties, passwords } from './logins.ts'
import type { StoredSegment, WantedServer } from './state.ts'

/** A system under test: a cluster whose state can be replaced, and whose duties run on request. */
export interface System {
  readonly name: 'Druid' | 'svc'
  /** The client for a path of the interface, as the administrator. */
  clientOf(path: string): HttpClient
  /** Sends a request to the server that answers its path, as the administrator. */
  send(request: SentRequest): Promise<Answer>
  /** Replaces the data servers and segments, and deletes rules, configuration, history, tasks and supervisors. */
  reset(servers: readonly WantedServer[], segments: readonly StoredSegment[]): Promise<void>
  /** Runs duties until they change nothing. Returns whether that was reached. */
  settle(): Promise<boolean>
  stop(): Promise<void>
}

/** Druid 37 in one process, with the names of its data servers. */
export interface DruidSystem extends System {
  /** Host and port of each possible data server, in order. */
  readonly serverNames: readonly string[]
}

const build = path.join(repositoryRoot, '.cache/differential')
const classPathFile = path.join(build, 'class-path')
const startTimeoutMs = 300_000
const dataServers = 8

/** Downloads Druid with Maven if necessary, and compiles the program that runs it. */
async function compile(): Promise<void> {
  mkdirSync(build, { recursive: true })
  const goals = ['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`]
  await promisify(execFile)('mvn', ['-q', '-B', '-f', path.join(import.meta.dirname, 'pom.xml'), ...goals], {
    timeout: 10 * 60_000,
  }).catch((error: { stdout?: string }) => {
    throw new Error(`Maven: ${error.stdout?.slice(0, 2000)}`)
  })
}

/** Returns free ports of this machine. */
async function freePorts(count: number): Promise<number[]> {
  const listening = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = listening.map((server) => (server.address() as { port: number }).port)
  await Promise.all(listening.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

const never = 'P1000D'

/** The properties of Druid. Duties never run by themselves. */
const properties: Readonly<Record<string, string>> = {
  'druid.host': '127.0.0.1',
  'druid.service': 'druid/coordinator',
  'druid.extensions.loadList': '[]',
  'druid.startup.logging.logProperties': 'false',
  'druid.metadata.storage.type': 'derby',
  'druid.metadata.storage.connector.host': '127.0.0.1',
  'druid.storage.type': 'local',
  'druid.selectors.indexing.serviceName': 'druid/overlord',
  'druid.selectors.coordinator.serviceName': 'druid/coordinator',
  'druid.lookup.enableLookupSyncOnStartup': 'false',
  'druid.coordinator.asOverlord.enabled': 'true',
  'druid.coordinator.asOverlord.overlordService': 'druid/overlord',
  'druid.indexer.queue.startDelay': 'PT0.1S',
  'druid.indexer.runner.type': 'httpRemote',
  'druid.indexer.storage.type': 'metadata',
  'druid.coordinator.startDelay': never,
  'druid.coordinator.period': never,
  'druid.coordinator.period.indexingPeriod': never,
  'druid.coordinator.loadqueuepeon.http.repeatDelay': 'PT0.05S',
  // Compaction by supervisors requires the cache.
  'druid.manager.segments.useIncrementalCache': 'always',
  'druid.manager.segments.pollDuration': 'PT0.05S',
  // Every request calculates the hash of its password.
  [`druid.auth.authenticator.${authenticator}.credentialIterations`]: '10',
  ...basicProperties('druid'),
}

const opened = [
  '--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED',
  '--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED',
  ...['java.nio', 'sun.nio.ch', 'jdk.internal.ref', 'java.io', 'java.lang'].map(
    (name) => `--add-opens=java.base/${name}=ALL-UNNAMED`,
  ),
  '--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED',
]

/** Starts Druid's coordinator and overlord. Throws with its log if it is not ready in time. */
export async function startDruidSystem(): Promise<DruidSystem> {
  await compile()
  const folder = newTestFolder()
  const ports = await freePorts(3 + dataServers)
  const [port, storePort, controlPort, ...dataPorts] = ports as [number, number, number, ...number[]]
  const locations = {
    'druid.storage.storageDirectory': `${folder}/segments`,
    'druid.indexer.logs.directory': `${folder}/logs`,
    'log4j.configurationFile': path.join(import.meta.dirname, 'log4j2.xml'),
    'java.io.tmpdir': folder,
    'user.timezone': 'UTC',
    // Data servers keep idle connections: Druid retries after growing delays if they close one that it uses again.
    'sun.net.httpserver.idleInterval': '100000',
    'sun.net.httpserver.maxIdleConnections': '10000',
  }
  const classPath = `${path.join(build, 'classes')}:${readFileSync(classPathFile, 'utf8').trim()}`
  const logFile = path.join(folder, 'log')
  const log = openSync(logFile, 'w')
  const child = spawn(
    'java',
    [
      '-Xmx800m',
      // Compiles less: it starts faster, and runs for minutes only.
      '-XX:TieredStopAtLevel=1',
      ...opened,
      ...Object.entries({ ...properties, ...locations }).map(([name, value]) => `-D${name}=${value}`),
      '-cp',
      classPath,
      'differential.Reference',
      folder,
      ...[port, storePort, controlPort].map(String),
      dataPorts.join(','),
    ],
    { cwd: folder, stdio: ['ignore', log, log] },
  )
  // A run that is interrupted exits without calling `stop`.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const client = createHttpClient(`http://127.0.0.1:${port}`, { credentials: `admin:${passwords.admin}` })
  const control = createHttpClient(`http://127.0.0.1:${controlPort}`)
  const stop = async () => {
    client.close()
    control.close()
    await endProcess(child)
    process.off('exit', kill)
    removeTestFolder(folder)
  }
  try {
    await waitUntilReady(client, child, logFile)
  } catch (error) {
    await stop()
    throw error
  }
  return {
    name: 'Druid',
    serverNames: dataPorts.map((dataPort) => `127.0.0.1:${dataPort}`),
    clientOf: () => client,
    send: (request) => client.send(request),
    reset: async (servers, segments) => {
      await control.post('/servers', servers)
      await control.post('/reset', { segments })
    },
    settle: async () => {
      const { json } = await control.post('/settle', {})
      return (json as { settled: boolean }).settled
    },
    stop,
  }
}

async function waitUntilReady(client: HttpClient, child: ChildProcess, logFile: string): Promise<void> {
  await waitUntil(
    'Druid leads',
    async () => {
      const path = '/druid/coordinator/v1/loadstatus'
      const answer = await client.send({ path }).catch(() => ({ status: 0 }))
      return answer.status
    },
    (status) => status === 200 || child.exitCode !== null,
    { timeoutMs: startTimeoutMs, pollMs: 200 },
  )
  if (child.exitCode !== null) throw new Error(`Druid exited: ${readFileSync(logFile, 'utf8').slice(-3000)}`)
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  // It has no state that needs a clean shutdown.
  child.kill('SIGKILL')
  await ended
}
