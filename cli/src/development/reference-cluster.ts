import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { retry } from '@svc/shared/retry'
import { sendRequest } from '../client/index.ts'
import { isListening } from '../cluster/index.ts'

/** A running Druid 37 with logins. */
export interface ReferenceCluster {
  /** URLs of its rules at its coordinator and through its router, with name and password. */
  readonly urls: readonly string[]
  stop(): Promise<void>
}

/** An installation of Druid 37 next to a running ZooKeeper. */
export interface ReferenceInstallation {
  /** Starts servers. Returns when all of them are healthy. */
  start(roles: readonly ReferenceRole[]): Promise<ReferenceServers>
  /** Stops ZooKeeper, and servers that are still running. */
  stop(): Promise<void>
}

/** Running servers of Druid 37. */
export interface ReferenceServers {
  readonly pids: Readonly<Record<string, number>>
  stop(): Promise<void>
}

/** The servers of Druid 37 that can be started. */
export type ReferenceRole = 'coordinator' | 'router' | 'historical' | 'indexer'

const zooKeeperCommand = '/usr/share/zookeeper/bin/zkServer.sh'
const zooKeeperPort = 27181
const metadataPort = 27527
const ports: Readonly<Record<ReferenceRole, number>> = {
  coordinator: 27081,
  router: 27888,
  historical: 27083,
  indexer: 27091,
}
const rulesPath = '/druid/coordinator/v1/rules'
const login = { user: 'admin', password: 'password1' }
const readyTimeoutMs = 180_000
/** After this time, a server that does not stop is killed. */
const maxStopMs = 30_000
const healthPollMs = 100

/**
 * Starts ZooKeeper and the coordinator and router of the Druid 37 installation in `home`, on separate ports, with their
 * state in `folder`. Throws a Failure if Druid, Java, or ZooKeeper is missing or does not start.
 */
export async function startReference(home: string, folder: string): Promise<ReferenceCluster> {
  const { start, stop } = await prepareReference(home, folder)
  try {
    const roles = ['coordinator', 'router'] as const
    await start(roles)
    const urls = roles.map((role) => `http://127.0.0.1:${ports[role]}${rulesPath}`)
    await Promise.all(urls.map((url) => untilAnswered(url, 500)))
    return { urls: urls.map((url) => url.replace('//', `//${login.user}:${login.password}@`)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * Starts ZooKeeper for the Druid 37 installation in `home`, whose servers keep their state in `folder`. Throws a Failure if
 * Druid or ZooKeeper is missing or does not start.
 */
export async function prepareReference(home: string, folder: string): Promise<ReferenceInstallation> {
  const runner = path.join(home, 'run.sh')
  for (const file of [runner, zooKeeperCommand]) {
    if (!existsSync(file)) throw unavailable(`Failed to start Druid 37: [${file}] is missing`)
  }
  mkdirSync(folder, { recursive: true })
  const started: ChildProcess[] = []
  const run = (command: string, args: readonly string[], options: Readonly<Record<string, string>> = {}) => {
    // Values may contain double quotes, so they are in single quotes.
    const javaOptions = Object.entries(options).map(([name, value]) => `'-D${name}=${value}'`)
    const child = spawn(command, [...args], {
      stdio: 'ignore',
      detached: true,
      env: { ...process.env, JAVA_TOOL_OPTIONS: javaOptions.join(' ') },
    })
    started.push(child)
    return child
  }
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((child) => end(child, 'SIGKILL')))
  }
  const start = async (roles: readonly ReferenceRole[]): Promise<ReferenceServers> => {
    const common = commonOptions(folder)
    const servers = roles.map((role) => {
      const child = run(runner, [role], { ...common, 'druid.plaintextPort': String(ports[role]) })
      return { role, child }
    })
    await Promise.all(
      roles.map((role) => untilAnswered(`http://127.0.0.1:${ports[role]}/status/health`, healthPollMs)),
    )
    return {
      pids: Object.fromEntries(servers.map(({ role, child }) => [role, child.pid!])),
      stop: async () => {
        await Promise.all(servers.map(({ child }) => end(child, 'SIGTERM')))
      },
    }
  }
  try {
    const zooKeeper = path.join(folder, 'zoo.cfg')
    const data = path.join(folder, 'zookeeper')
    writeFileSync(
      zooKeeper,
      `tickTime=2000\ndataDir=${data}\nclientPort=${zooKeeperPort}\nadmin.enableServer=false\n`,
    )
    run(zooKeeperCommand, ['start-foreground', zooKeeper])
    await retry(() => expectConnection(zooKeeperPort), { delayMs: 100, timeoutMs: readyTimeoutMs })
    return { start, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Ends a process and its children. Returns when it has exited. */
async function end(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const group = -child.pid
  const ended = once(child, 'exit')
  const timer = setTimeout(() => process.kill(group, 'SIGKILL'), maxStopMs)
  process.kill(group, signal)
  await ended
  clearTimeout(timer)
}

/** Its properties, with logins, and with its state in the folder. */
function commonOptions(folder: string): Record<string, string> {
  const authenticator = 'druid.auth.authenticator.MyBasicMetadataAuthenticator'
  return {
    'druid.zk.service.host': `127.0.0.1:${zooKeeperPort}`,
    'druid.zk.paths.base': '/bench',
    'druid.metadata.storage.connector.connectURI': `jdbc:derby://127.0.0.1:${metadataPort}/${folder}/metadata.db;create=true`,
    'druid.metadata.storage.connector.port': String(metadataPort),
    'druid.storage.storageDirectory': `${folder}/segments`,
    'druid.segmentCache.locations': JSON.stringify([{ path: `${folder}/segment-cache`, maxSize: '1g' }]),
    'druid.indexer.logs.directory': `${folder}/logs`,
    'druid.indexer.task.baseDir': `${folder}/tasks`,
    'druid.auth.authenticatorChain': '["MyBasicMetadataAuthenticator"]',
    [`${authenticator}.type`]: 'basic',
    [`${authenticator}.initialAdminPassword`]: login.password,
    [`${authenticator}.initialInternalClientPassword`]: 'password2',
    [`${authenticator}.credentialsValidator.type`]: 'metadata',
    [`${authenticator}.authorizerName`]: 'MyBasicMetadataAuthorizer',
    'druid.escalator.type': 'basic',
    'druid.escalator.internalClientUsername': 'druid_system',
    'druid.escalator.internalClientPassword': 'password2',
    'druid.escalator.authorizerName': 'MyBasicMetadataAuthorizer',
    'druid.auth.authorizers': '["MyBasicMetadataAuthorizer"]',
    'druid.auth.authorizer.MyBasicMetadataAuthorizer.type': 'basic',
  }
}

async function expectConnection(port: number): Promise<void> {
  if (!(await isListening(`http://127.0.0.1:${port}`)))
    throw unavailable(`ZooKeeper does not accept connections on port [${port}]`)
}

async function untilAnswered(url: string, delayMs: number): Promise<void> {
  const credentials = `${login.user}:${login.password}`
  const expectAnswer = async () => {
    const answer = await sendRequest({ url, credentials, timeoutMs: 5000 }).catch(() => undefined)
    if (answer?.status !== 200) throw unavailable(`Druid 37 does not respond at [${url}]`)
  }
  await retry(expectAnswer, { delayMs, timeoutMs: readyTimeoutMs })
}
