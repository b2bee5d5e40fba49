import { conflict, invalidInput, unavailable } from '@svc/domain/failure'
import { countOf } from '@svc/domain/text'
import { parseSizeBytes } from '@svc/domain/validation'

/** The versions that created the volumes; stored in a volume and compared at each start. */
export interface Installation {
  /** Format of the volumes. */
  readonly format: number
  /** The major version of Postgres. */
  readonly postgres: string
  /** The newest known migration of the metadata store. */
  readonly schema: string
}

export const installationFormat = 1

/** The options of the one-shot service, from docker-compose.yml. */
export interface PreparationOptions {
  readonly project: string
  /** Number of certificates for replicas, by service. */
  readonly replicas: ReadonlyMap<string, number>
  /** Additional names and addresses of the router. */
  readonly routerHosts: readonly string[]
  /** The major version. */
  readonly postgres: string
  readonly minMemoryBytes: number
}

/** The options of a project, from the environment. Throws a Failure that names the variable, the value, and what is expected. */
export function readOptions(project: string, environment: NodeJS.ProcessEnv): PreparationOptions {
  const text = (name: string, pattern: RegExp, allowed: string): string => {
    const value = environment[name] ?? ''
    if (pattern.test(value)) return value
    throw invalidInput(`Invalid value [${value}] for [${name}]: expected ${allowed}`)
  }
  const minMemoryBytes = parseSizeBytes(environment.SVC_MIN_MEMORY ?? '')
  if (minMemoryBytes === undefined) {
    throw invalidInput(
      `Invalid value [${environment.SVC_MIN_MEMORY ?? ''}] for [SVC_MIN_MEMORY]: expected a size such as 2g or 1536MiB`,
    )
  }
  // Checked by itself because it is also part of SVC_SERVICES, which users do not set.
  text('SVC_REPLICAS', /^[1-9]\d{0,2}$/, 'an integer from 1 to 999')
  const replicas = text(
    'SVC_SERVICES',
    /^[a-z0-9-]+=[1-9]\d{0,2}( [a-z0-9-]+=[1-9]\d{0,2})*$/,
    'service=replicas pairs, separated by spaces, with 1 to 999 replicas each',
  )
  const routerHosts = text(
    'SVC_ROUTER_HOSTS',
    /^([A-Za-z0-9.:_-]+(,[A-Za-z0-9.:_-]+)*)?$/,
    'comma-separated host names and addresses',
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
    postgres: text('SVC_POSTGRES_VERSION', /^\d+/, 'a Postgres version such as 17').match(/^\d+/)![0],
    minMemoryBytes,
  }
}

/** The state of the machine and the volumes at a start. */
export interface Found {
  readonly memoryBytes: number
  /** Undefined at the first start. */
  readonly installation: Installation | undefined
  /** Whether the volume of Postgres contains data. */
  readonly hasData: boolean
  /** The migrations that this version knows, oldest first. */
  readonly migrations: readonly string[]
}

/** Throws a Failure with one line if the cluster cannot run on this machine or with these volumes. */
export function checkCanRun(options: PreparationOptions, found: Found): void {
  const { minMemoryBytes, postgres } = options
  const { memoryBytes, installation, hasData, migrations } = found
  if (memoryBytes < minMemoryBytes) {
    throw unavailable(
      `The Docker host has [${toGib(memoryBytes)}] GiB of memory, expected at least [${toGib(minMemoryBytes)}] GiB (SVC_MIN_MEMORY in .env). Give Docker more memory.`,
    )
  }
  if (!installation) {
    if (!hasData) return
    throw conflict(
      'The Postgres volume was created by an earlier installation, whose passwords are lost. To start over and delete all data of the cluster, run docker compose down --volumes',
    )
  }
  if (installation.format !== installationFormat) {
    throw conflict(
      `The volumes have format [${installation.format}], expected [${installationFormat}]. Use the version of svc that created them, or delete all data of the cluster with docker compose down --volumes`,
    )
  }
  if (installation.postgres !== postgres) {
    throw conflict(
      `The Postgres volume was created by Postgres [${installation.postgres}], but POSTGRES_VERSION in .env is [${postgres}]. Set POSTGRES_VERSION back to [${installation.postgres}], or delete all data of the cluster with docker compose down --volumes`,
    )
  }
  if (!migrations.includes(installation.schema)) {
    throw conflict(
      `The volumes were used by a newer version of svc: their schema is [${installation.schema}], expected at most [${migrations.at(-1)}]. Use the newer version, or delete all data of the cluster with docker compose down --volumes`,
    )
  }
}

/** The host names of each certificate, by container name. */
export function plannedHosts({ project, replicas, routerHosts }: PreparationOptions): Map<string, string[]> {
  const hosts = new Map<string, string[]>()
  for (const [service, number] of replicas) {
    // Users outside reach the router by other names than that of the container.
    const further = service === 'router' ? ['localhost', '127.0.0.1', '::1', service, ...routerHosts] : []
    for (let replica = 1; replica <= number; replica++) {
      const name = `${project}-${service}-${replica}`
      hosts.set(name, [...new Set([name, ...further])])
    }
  }
  return hosts
}

/** Says how many certificates were issued, and how many are still in use: of `all`, all but `issued`. */
export function certificatesText(issued: number, all: number): string {
  if (issued === 0) return `all ${countOf(all, 'certificate')} are valid`
  const kept = all - issued
  return `issued ${countOf(issued, 'certificate')}${kept === 0 ? '' : ` and kept ${kept}`}`
}

function toGib(bytes: number): string {
  return (bytes / 2 ** 30).toFixed(1)
}
