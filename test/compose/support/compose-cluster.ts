import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { repositoryRoot } from '@svc/cli/home'
import { loadSettings } from '@svc/shared/config'
import { createDatabase, type Database } from '@svc/shared/postgres'
import { createHttpClient, type HttpClient } from '@svc/shared/testing'
import type { FoundFile } from '../../support/folder-contents.ts'
import type { CommandResult } from '../../support/svc-command.ts'

const timeoutMs = 600_000
const home = '/var/lib/svc'

/** A container of a project, as listed by Docker. */
export interface Container {
  /** Its service and number, such as `historical-2`. */
  readonly instance: string
  readonly service: string
  readonly state: string
  readonly health: string
  readonly exitCode: number
  /** The published port on this machine; undefined if there is none. */
  readonly port: number | undefined
}

/** The Compose project of a test, with clients for its cluster. */
export interface ComposeCluster {
  readonly project: string
  readonly routerPort: number
  /** A client for the router, logged in as admin. */
  readonly router: HttpClient
  /** The metadata store. */
  readonly store: Database
  /** The initial password of the admin. */
  readonly password: string
  /** The certificate of the authority, PEM. */
  readonly trusted: string
  /**
   * A client for an instance, logged in as admin; the instance's certificate must be valid for the name of
   * its container.
   */
  at(instance: string): HttpClient
  /** Host and port of an instance, as used by other servers. */
  nameOf(instance: string): string
  /** Runs docker compose for this project. If it fails, throws an Error with its output. */
  compose(...args: string[]): Promise<string>
  /** Like `compose`, but does not throw if it fails. */
  tryCompose(...args: string[]): Promise<CommandResult>
  /** Starts or updates all containers, waits until they are healthy, and looks up their addresses. */
  up(args?: readonly string[], profile?: string): Promise<void>
  containers(): Promise<Container[]>
  /** The files in a folder of the volumes, as seen by an instance. */
  files(instance: string, folder: string): Promise<Record<string, FoundFile>>
  /** Removes everything, including the volumes. */
  end(): Promise<void>
}

/** Prepares a Compose project with its own port, without starting it. `environment` overrides .env. */
export async function openComposeCluster(
  environment: Readonly<Record<string, string>> = {},
): Promise<ComposeCluster> {
  const routerPort = await freePort()
  const project = `svc-test-${routerPort}`
  const variables = { SVC_ROUTER_PORT: String(routerPort), SVC_COORDINATOR_PERIOD: 'PT0.5S', ...environment }
  const tryCompose = (...args: string[]) =>
    runDocker(['compose', ...projectOptions(project), ...args], variables)
  const compose = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await tryCompose(...args)
    if (status !== 0) throw new Error(`docker compose ${args.join(' ')}: ${stderr}${stdout}`)
    return stdout
  }

  let reached: Ways | undefined
  const leave = async (): Promise<void> => {
    for (const client of reached?.clients.values() ?? []) client.close()
    await reached?.store.close().catch(() => undefined)
    reached = undefined
  }
  const reach = (): Ways => {
    if (!reached) throw new Error('The cluster is not running')
    return reached
  }

  const containers = async (): Promise<Container[]> => {
    const lines = (await compose('ps', '--all', '--format', 'json')).trim().split('\n')
    return lines.filter((line) => line !== '').map((line) => describeContainer(JSON.parse(line), project))
  }
  return {
    project,
    routerPort,
    get router() {
      return reach().router
    },
    get store() {
      return reach().store
    },
    get password() {
      return reach().password
    },
    get trusted() {
      return reach().trusted
    },
    at: (instance) => {
      const { clients } = reach()
      const client = clients.get(instance)
      if (!client) throw new Error(`Unknown instance [${instance}]; expected one of [${[...clients.keys()]}]`)
      return client
    },
    nameOf: (instance) => `${project}-${instance}:${tlsPorts[serviceOf(instance)]}`,
    compose,
    tryCompose,
    up: async (args = [], profile = '') => {
      await compose('--profile', profile, 'up', '--detach', '--wait', ...args)
      await leave()
      reached = await findWays(project, routerPort, compose, await containers())
    },
    containers,
    files: (instance, folder) => filesOf(project, variables, instance, folder),
    end: async () => {
      await leave()
      await compose('--profile', '*', 'down', '--volumes', '--timeout', '1')
    },
  }
}

/** How to reach the parts of a cluster. */
interface Ways extends Pick<ComposeCluster, 'router' | 'store' | 'password' | 'trusted'> {
  readonly clients: ReadonlyMap<string, HttpClient>
}

async function findWays(
  project: string,
  routerPort: number,
  compose: ComposeCluster['compose'],
  containers: readonly Container[],
): Promise<Ways> {
  const password = (await compose('run', '--rm', 'password')).trim()
  const trusted = await compose('exec', '-T', 'router', 'cat', `${home}/pki/authority.pem`)
  const credentials = `admin:${password}`
  const clients = new Map<string, HttpClient>()
  for (const { instance, service, port } of containers) {
    if (port === undefined || service === 'router' || service === 'postgres') continue
    const serverName = `${project}-${instance}`
    clients.set(instance, createHttpClient(`https://127.0.0.1:${port}`, { trusted, credentials, serverName }))
  }
  const router = createHttpClient(`https://localhost:${routerPort}`, { trusted, credentials })
  clients.set('router-1', router)
  const storePort = containers.find(({ service }) => service === 'postgres')!.port!
  const storePassword = await compose('exec', '-T', 'postgres', 'cat', `${home}/secrets/postgres-password`)
  return { router, store: openStore(storePort, storePassword), password, trusted, clients }
}

function openStore(port: number, password: string): Database {
  const settings = loadSettings('coordinator', [], {
    svc_metadata_storage_connector_port: String(port),
    svc_metadata_storage_connector_password: password,
  })
  return createDatabase(settings, { connections: 2, applicationName: 'test' })
}

/** Returns the files in a folder of the volumes, as seen by an instance. */
async function filesOf(
  project: string,
  variables: Readonly<Record<string, string>>,
  instance: string,
  folder: string,
): Promise<Record<string, FoundFile>> {
  // Runs the source of this function in the container, followed by a call of it.
  const source = readFileSync(path.join(import.meta.dirname, '../../support/folder-contents.ts'), 'utf8')
  const call = `console.log(JSON.stringify(folderContents(${JSON.stringify(path.posix.join(home, folder))})))`
  const where = ['exec', '-T', '--index', String(numberOf(instance)), serviceOf(instance)]
  const program = ['node', '--input-type=module-typescript', '-']
  const args = ['compose', ...projectOptions(project), ...where, ...program]
  const { status, stdout, stderr } = await runDocker(args, variables, `${source}\n${call}\n`)
  if (status !== 0) throw new Error(`Failed to list the files of ${instance} in ${folder}: ${stderr}`)
  return JSON.parse(stdout) as Record<string, FoundFile>
}

/** Runs docker, for at most ten minutes. */
export async function runDocker(
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  input = '',
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const options = { env: { ...process.env, ...variables }, timeout: timeoutMs, maxBuffer: 2 ** 26 }
    const child = execFile('docker', args, options, (error, stdout, stderr) => {
      const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ status, stdout, stderr })
    })
    // A command may end before it has read its input; its exit status says why.
    child.stdin?.on('error', () => undefined).end(input)
  })
}

/** Runs docker; returns its output. Throws an Error with the output if it fails. */
export async function docker(...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await runDocker(args)
  if (status !== 0) throw new Error(`docker ${args.join(' ')}: ${stderr}${stdout}`)
  return stdout
}

const tlsPorts: Readonly<Record<string, number>> = {
  router: 9088,
  coordinator: 8281,
  coordinator2: 8281,
  overlord: 8290,
  broker: 8282,
  historical: 8283,
  'historical-hot': 8283,
}

const projectOptions = (project: string): string[] => [
  '--project-name',
  project,
  '--project-directory',
  repositoryRoot,
  '--file',
  path.join(repositoryRoot, 'docker-compose.yml'),
  '--file',
  path.join(import.meta.dirname, 'ports.yml'),
]

const serviceOf = (instance: string): string => instance.slice(0, instance.lastIndexOf('-'))
const numberOf = (instance: string): number => Number(instance.slice(instance.lastIndexOf('-') + 1))

interface ListedContainer {
  readonly Name: string
  readonly Service: string
  readonly State: string
  readonly Health: string
  readonly ExitCode: number
  readonly Publishers: readonly { readonly PublishedPort: number }[] | null
}

function describeContainer(listed: ListedContainer, project: string): Container {
  return {
    instance: listed.Name.slice(project.length + 1),
    service: listed.Service,
    state: listed.State,
    health: listed.Health,
    exitCode: listed.ExitCode,
    port: listed.Publishers?.find(({ PublishedPort }) => PublishedPort !== 0)?.PublishedPort,
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
