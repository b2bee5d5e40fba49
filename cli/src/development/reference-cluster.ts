import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { unavailable } from '@svc/domain/failure'
import { retry } from '@svc/shared/retry'
import { sendRequest } from '../client/index.ts'

/** A running Druid 37 with logins. */
export interface ReferenceCluster {
  /** URLs of its rules at its coordinator and through its router, with name and password. */
  readonly urls: readonly string[]
  stop(): Promise<void>
}

const zooKeeperCommand = '/usr/share/zookeeper/bin/zkServer.sh'
const ports = { zooKeeper: 27181, metadata: 27527, coordinator: 27081, router: 27888 }
const rulesPath = '/druid/coordinator/v1/rules'
const login = { user: 'admin', password: 'password1' }
const readyTimeoutMs = 180_000

/**
 * Starts ZooKeeper and the coordinator and router of the Druid 37 installation in `home`, on separate ports, with their
 * state in `folder`. Throws a Failure if Druid, Java, or ZooKeeper is missing or does not start.
 */
export async function startReference(home: string, folder: string): Promise<ReferenceCluster> {
  const runner = path.join(home, 'run.sh')
  for (const file of [runner, zooKeeperCommand]) {
    if (!existsSync(file)) throw unavailable(`Failed to start Druid 37: [${file}] is missing`)
  }
  mkdirSync(folder, { recursive: true })
  const started: ChildProcess[] = []
  const run = (command: string, args: readonly string[], options: Readonly<Record<string, string>> = {}) => {
    // Values may contain double quotes, so they are in single quotes.
    const javaOptions = Object.entries(options).map(([name, value]) => `'-D${name}=${value}'`)
    started.push(
      spawn(command, [...args], {
        stdio: 'ignore',
        detached: true,
        env: { ...process.env, JAVA_TOOL_OPTIONS: javaOptions.join(' ') },
      }),
    )
  }
  const stop = async (): Promise<void> => {
    await Promise.all(
      started.map(async (child) => {
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
        const ended = new Promise((resolve) => child.once('exit', resolve))
        process.kill(-child.pid, 'SIGKILL')
        await ended
      }),
    )
  }
  try {
    const zooKeeper = path.join(folder, 'zoo.cfg')
    const data = path.join(folder, 'zookeeper')
    writeFileSync(
      zooKeeper,
      `tickTime=2000\ndataDir=${data}\nclientPort=${ports.zooKeeper}\nadmin.enableServer=false\n`,
    )
    run(zooKeeperCommand, ['start-foreground', zooKeeper])
    const common = commonOptions(folder)
    for (const role of ['coordinator', 'router'] as const)
      run(runner, [role], { ...common, 'druid.plaintextPort': String(ports[role]) })
    const urls = [ports.coordinator, ports.router].map((port) => `http://127.0.0.1:${port}${rulesPath}`)
    await Promise.all(urls.map(untilAnswered))
    return { urls: urls.map((url) => url.replace('//', `//${login.user}:${login.password}@`)), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Its properties, with logins, and with its state in the folder. */
function commonOptions(folder: string): Record<string, string> {
  const authenticator = 'druid.auth.authenticator.MyBasicMetadataAuthenticator'
  return {
    'druid.zk.service.host': `127.0.0.1:${ports.zooKeeper}`,
    'druid.zk.paths.base': '/bench',
    'druid.metadata.storage.connector.connectURI': `jdbc:derby://127.0.0.1:${ports.metadata}/${folder}/metadata.db;create=true`,
    'druid.metadata.storage.connector.port': String(ports.metadata),
    'druid.storage.storageDirectory': `${folder}/segments`,
    'druid.indexer.logs.directory': `${folder}/logs`,
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

async function untilAnswered(url: string): Promise<void> {
  const credentials = `${login.user}:${login.password}`
  const expectAnswer = async () => {
    const answer = await sendRequest({ url, credentials, timeoutMs: 5000 }).catch(() => undefined)
    if (answer?.status !== 200) throw unavailable(`Druid 37 does not respond at [${url}]`)
  }
  await retry(expectAnswer, { delayMs: 500, timeoutMs: readyTimeoutMs })
}
