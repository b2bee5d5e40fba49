import { conflict, invalidInput, unavailable } from '@svc/domain/failure'
import { parseSizeBytes } from '@svc/domain/validation'

/** What the volumes were made by; kept among them, and compared at each start. */
export interface Installation {
  /** Of the layout of the volumes. */
  readonly format: number
  /** The major version of Postgres. */
  readonly postgres: string
  /** The newest migration of the metadata store that was known. */
  readonly schema: string
}

export const FORMAT = 1

/** What the one-shot service is told by docker-compose.yml. */
export interface PreparationOptions {
  readonly project: string
  /** For how many replicas of each service there are certificates, by its name. */
  readonly replicas: ReadonlyMap<string, number>
  /** Further names and addresses under which the router is reached. */
  readonly routerHosts: readonly string[]
  /** The major version. */
  readonly postgres: string
  readonly leastMemoryBytes: number
}

/**
 * The options for a project, out of the environment. Throws a Failure that names variable, value and what is allowed.
 */
export function readOptions(project: string, environment: NodeJS.ProcessEnv): PreparationOptions {
  const text = (name: string, pattern: RegExp, allowed: string): string => {
    const value = environment[name] ?? ''
    if (pattern.test(value)) return value
    throw invalidInput(`[${name}] is [${value}], allowed is ${allowed}`)
  }
  const leastMemoryBytes = parseSizeBytes(environment.SVC_LEAST_MEMORY ?? '')
  if (leastMemoryBytes === undefined) {
    throw invalidInput(
      `[SVC_LEAST_MEMORY] is [${environment.SVC_LEAST_MEMORY ?? ''}], allowed is a size such as 2g or 1536MiB`,
    )
  }
  // It stands in the next one too, of which users know nothing.
  text('SVC_REPLICAS', /^[1-9]\d{0,2}$/, 'a whole number from 1 to 999')
  const replicas = text(
    'SVC_SERVICES',
    /^[a-z0-9-]+=[1-9]\d{0,2}( [a-z0-9-]+=[1-9]\d{0,2})*$/,
    'service=replicas, with a blank between, and from 1 to 999 replicas',
  )
  const routerHosts = text(
    'SVC_ROUTER_HOSTS',
    /^([A-Za-z0-9.:_-]+(,[A-Za-z0-9.:_-]+)*)?$/,
    'host names and addresses with a comma between',
  )
  return {
    project,
    replicas: new Map(
      replicas.split(' ').map((entry) => {
        const [service, number] = entry.split('=') as [string, string]
        return [service, Number(number)]
      }),
    ),
    routerHosts: routerHosts === '' ? [] : routerHosts.split(','),
    postgres: text('SVC_POSTGRES_VERSION', /^\d+/, 'a version of Postgres such as 17').match(/^\d+/)![0],
    leastMemoryBytes,
  }
}

/** What a start finds. */
export interface Found {
  readonly memoryBytes: number
  /** Undefined at the first start. */
  readonly installation: Installation | undefined
  /** Whether Postgres has been at its volume. */
  readonly hasData: boolean
  /** The migrations that this version knows, oldest first. */
  readonly migrations: readonly string[]
}

/** Throws a Failure with one line when the cluster cannot run here, or not with these volumes. */
export function checkCanRun(options: PreparationOptions, found: Found): void {
  const { leastMemoryBytes, postgres } = options
  const { memoryBytes, installation, hasData, migrations } = found
  if (memoryBytes < leastMemoryBytes) {
    throw unavailable(
      `The machine of the engine has [${toGib(memoryBytes)}] GiB of memory, the cluster takes [${toGib(leastMemoryBytes)}] (SVC_LEAST_MEMORY in .env): give the engine more`,
    )
  }
  if (!installation) {
    if (!hasData) return
    throw conflict(
      'The volume of Postgres was made by an earlier installation whose passwords are gone: begin anew with docker compose down --volumes',
    )
  }
  if (installation.format !== FORMAT) {
    throw conflict(
      `The volumes have format [${installation.format}], this version knows [${FORMAT}]: use the version that made them, or begin anew with docker compose down --volumes`,
    )
  }
  if (installation.postgres !== postgres) {
    throw conflict(
      `The volume of Postgres was made by version [${installation.postgres}], and POSTGRES_VERSION in .env is [${postgres}]: set it back, or begin anew with docker compose down --volumes`,
    )
  }
  if (!migrations.includes(installation.schema)) {
    throw conflict(
      `The volumes were used by a newer version: their schema is [${installation.schema}], but this version only knows migrations up to [${migrations.at(-1)}]: use that version, or begin anew with docker compose down --volumes`,
    )
  }
}

/** The host names that each certificate is good for, by the name of its container. */
export function plannedHosts({ project, replicas, routerHosts }: PreparationOptions): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const [service, number] of replicas) {
    // Users come to the router from outside, by names that are not the container's.
    const further = service === 'router' ? ['localhost', '127.0.0.1', '::1', service, ...routerHosts] : []
    for (let replica = 1; replica <= number; replica++) {
      const name = `${project}-${service}-${replica}`
      hosts.set(name, [...new Set([name, ...further])])
    }
  }
  return hosts
}

function toGib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1)
}
