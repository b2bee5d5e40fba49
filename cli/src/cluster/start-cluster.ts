import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Failure, invalidInput, unavailable } from '@svc/domain/failure'
import { retry } from '@svc/shared/retry'
import { parseOptions, type WrittenOptions } from '../cluster-options/index.ts'
import {
  cacheFolder,
  deleteHome,
  diskFull,
  type HomeLayout,
  homeLayout,
  isHome,
  lockHome,
  logFile,
  openHome,
  type RunningProcess,
  repositoryRoot,
  storageFailure,
} from '../home/index.ts'
import { directoryServer } from '../ldap/index.ts'
import { lastErrorIn, lastLines } from '../logs/index.ts'
import { trustStoreFile } from '../pki/index.ts'
import {
  checkDataFolder,
  decideRunAs,
  ensureDataFolder,
  isPostgresReady,
  postgresBinaries,
  postgresServer,
  removeStalePidFile,
} from '../postgres/index.ts'
import { findRedis, redisErrorIn, redisServer } from '../redis/index.ts'
import type { ProcessEnd, ProcessSpec } from '../supervisor/index.ts'
import { countOf } from '../terminal/index.ts'
import { adoptAdminPassword, hasFirstAdminPassword } from './admin-password.ts'
import { ClusterProcesses } from './cluster-processes.ts'
import { endLeftovers } from './end-cluster.ts'
import { checkPortsAreFree } from './free-ports.ts'
import { createHealthProbe, fetchHealth, isListening } from './health.ts'
import { type ClusterPlan, planCluster, type ServicePlan } from './plan-cluster.ts'
import {
  checkAdminPassword,
  checkConfiguration,
  ensurePasswords,
  ensurePlannedCertificates,
  type Passwords,
} from './prepare-home.ts'
import { serviceSpec } from './service-spec.ts'
import { writeConfiguration } from './write-configuration.ts'

/** What to start, and how to report progress. */
export interface StartOptions extends WrittenOptions {
  /** The folder with all state; created if missing. */
  readonly home: string
  /** Whether to delete the home if the start is rejected. Default: if this process creates it. */
  readonly isNewHome?: boolean | undefined
  /** The initial password of the user `admin`; random by default. */
  readonly adminPassword?: string | undefined
  /** Names and addresses for which the certificates are valid, in addition to those of this machine. */
  readonly certificateHosts?: readonly string[] | undefined
  /** Only Postgres and Redis, for tests that start their own services. */
  readonly storesOnly?: boolean | undefined
  /** Whether services restart when their source changes. */
  readonly watch?: boolean | undefined
  /** Additional environment variables by instance, for tests that manipulate a process. */
  readonly environment?: ((instance: string) => Readonly<Record<string, string>>) | undefined
  /** How long to wait for services that are running but not ready; `notReady` lists them afterward. */
  readonly readyTimeoutMs?: number | undefined
  /** When aborted, cancels the start and stops everything it started. */
  readonly signal?: AbortSignal | undefined
  /** Called with a short text for each completed step. */
  readonly onStep?: ((step: string) => void) | undefined
  /** Called with the URL of each coordinator as soon as it is ready, before the services that wait for it. */
  readonly onCoordinator?: ((url: string) => void) | undefined
  /** Called when a process of the running cluster exits unexpectedly. */
  readonly onEnd?: ((end: ProcessEnd) => void) | undefined
}

/** A service that is running but not ready. */
export interface NotReady {
  readonly instance: string
  readonly problem: string
}

/** A cluster that was started by this process and stops with it. */
export interface Cluster {
  readonly home: HomeLayout
  readonly plan: ClusterPlan
  readonly routerUrl: string
  /** URL by instance. */
  readonly urls: Readonly<Record<string, string>>
  /** The admin's initial password; undefined in the plain profile. */
  readonly adminPassword: string | undefined
  /** The certificate to trust, PEM; undefined without TLS. */
  readonly trusted: string | undefined
  /** The services that were not ready in time. */
  readonly notReady: readonly NotReady[]
  /** Every process, including Postgres and Redis. */
  processes(): readonly RunningProcess[]
  /** Sends a signal that ends an instance; returns when it has exited. The supervisor then restarts it. */
  kill(instance: string, signal: NodeJS.Signals): Promise<void>
  /** Waits until a service is ready. Throws a Failure if it is not ready within `timeoutMs`. */
  waitUntilReady(instance: string, timeoutMs?: number): Promise<void>
  /** Stops one instance gracefully; it stays down until `startInstance`. */
  stopInstance(instance: string): Promise<void>
  startInstance(instance: string): void
  /** Stops everything; returns when no process is left. */
  stop(): Promise<void>
}

const readyTimeoutMs = 60_000
const pollMs = 20
/** The other services wait for a coordinator, so until it is ready, they are queried less often. */
const waitingPollMs = 200
/** Why a service is not ready is reported only after this time. */
const quietWaitMs = 5000

/** A message in the middle of a sentence: without its first capital letter, unless it starts with a name, and its period. */
function asClause(message: string): string {
  const isName = /^(Postgres|Redis|LDAP|TLS)\b/.test(message) || !/^[A-Z][a-z ]/.test(message)
  return (isName ? message : message.charAt(0).toLowerCase() + message.slice(1)).replace(/\.$/, '')
}

const redisCache = path.join(cacheFolder, 'redis')

/**
 * Starts a cluster. Returns when all services are ready, or after a timeout while they keep running. If the start
 * fails, stops everything that was started and throws a Failure with one clear message.
 */
export async function startCluster(options: StartOptions): Promise<Cluster> {
  const layout = homeLayout(options.home)
  const surroundings = {
    home: layout,
    dataFolder: path.join(repositoryRoot, 'data'),
    virtualServers: virtualServersOf(layout, options),
    isImported: existsSync(layout.importReport),
  }
  const plan = planCluster(parseOptions(options), surroundings)
  const selected = options.storesOnly ? { ...plan, services: [], hasTls: false } : plan
  checkAdminPassword(options.adminPassword)
  const isNew = options.isNewHome ?? !isHome(layout)
  const home = openHome(options.home)
  const unlock = lockHome(home)
  const start = new ClusterStart(home, selected, options, unlock)
  let isPrepared = false
  try {
    const passwords = await start.prepare()
    isPrepared = true
    return await start.run(passwords)
  } catch (error) {
    unlock()
    // A start that is rejected before anything was started leaves no new home behind.
    if (isNew && !isPrepared) deleteHome(home)
    throw storageFailure(error, home.root)
  }
}

/** The virtual servers of a home, if it has any. Throws a Failure if real historicals are requested as well. */
function virtualServersOf(home: HomeLayout, { historicals }: StartOptions): string | undefined {
  if (!existsSync(home.virtualServers)) return undefined
  if (historicals !== undefined) {
    throw invalidInput(
      `Option --historicals cannot be used with [${home.root}]: its segments have no data, so only its virtual servers can load them`,
    )
  }
  return readFileSync(home.virtualServers, 'utf8').trim()
}

/** One start: the state that its steps share. If one step fails, all are canceled. */
class ClusterStart {
  private readonly home: HomeLayout
  private readonly plan: ClusterPlan
  private readonly options: StartOptions
  private readonly unlock: () => void
  private readonly processes: ClusterProcesses
  private readonly failure = new AbortController()
  private readonly signal: AbortSignal
  /** Size of each log before this start: anything after that is about this start. */
  private readonly logSizes = new Map<string, number>()
  private readonly ready = new Set<string>()
  private trusted: string | undefined
  private isStarting = true
  private isDownloading = false

  constructor(home: HomeLayout, plan: ClusterPlan, options: StartOptions, unlock: () => void) {
    this.home = home
    this.plan = plan
    this.options = options
    this.unlock = unlock
    this.processes = new ClusterProcesses(home, plan, (end) => this.onEnd(end))
    this.signal = options.signal
      ? AbortSignal.any([options.signal, this.failure.signal])
      : this.failure.signal
  }

  /** Creates passwords and configuration. Throws a Failure if the configuration, the home, or the ports cannot be used. */
  async prepare(): Promise<Passwords> {
    const leftovers = await endLeftovers(this.home)
    if (leftovers > 0) this.report(`Stopped ${countOf(leftovers, 'leftover process', 'leftover processes')}`)
    checkDataFolder(this.home)
    await checkPortsAreFree(this.plan)
    const { adminPassword } = this.options
    const mayAdopt = !hasFirstAdminPassword(this.home)
    const passwords = ensurePasswords(this.home, this.plan, adminPassword)
    writeConfiguration(this.home, this.plan)
    checkConfiguration(this.home, this.plan)
    if (passwords.admin === undefined || !mayAdopt) return passwords
    return { ...passwords, admin: adoptAdminPassword(this.home, this.plan, adminPassword) }
  }

  async run(passwords: Passwords): Promise<Cluster> {
    const begun: Promise<unknown>[] = []
    try {
      // Services retry until their stores are ready, so everything starts at the same time.
      const services = this.startServices()
      const postgres = this.startPostgres(passwords.postgres)
      const redis = this.startRedis(passwords.redis)
      begun.push(services, postgres, redis)
      const [notReady] = await Promise.all([services, postgres, redis, this.startDirectory()])
      this.signal.throwIfAborted()
      this.isStarting = false
      return this.running(passwords, notReady)
    } catch (error) {
      this.failure.abort(error)
      // Waits until a partially created data folder and a partial download are deleted.
      await Promise.allSettled(begun)
      await this.processes.stop()
      throw error
    }
  }

  private async startPostgres(password: string): Promise<void> {
    const { postgresPort, services } = this.plan
    const runAs = decideRunAs(this.home, postgresBinaries())
    const isNew = await ensureDataFolder(this.home, runAs, password, this.signal)
    if (isNew) this.report('Created the Postgres data folder')
    removeStalePidFile(this.home)
    this.start(
      'postgres',
      `postgres://127.0.0.1:${postgresPort}`,
      postgresServer(this.home, runAs, { port: postgresPort, services: services.length }),
    )
    let reportAfter = performance.now() + quietWaitMs
    await this.until(async () => {
      if (performance.now() > reportAfter) {
        this.report('Waiting for postgres')
        reportAfter = Number.POSITIVE_INFINITY
      }
      const pid = this.processes.identityOf('postgres')?.pid
      return pid !== undefined && isPostgresReady(this.home, pid)
    })
    this.reportStarted('postgres')
  }

  private async startRedis(password: string): Promise<void> {
    const onDownload = () => {
      this.isDownloading = true
      this.report('Downloading Redis…')
    }
    const program = await findRedis({
      searchPath: process.env.PATH ?? '',
      cacheFolder: redisCache,
      onDownload,
      signal: this.signal,
    })
    if (this.isDownloading) {
      this.isDownloading = false
      this.report('Downloaded Redis')
    }
    const { redisPort } = this.plan
    const url = `redis://127.0.0.1:${redisPort}`
    this.start('redis', url, redisServer(this.home, program, redisPort, password))
    await this.until(() => isListening(url))
    this.reportStarted('redis')
  }

  private async startDirectory(): Promise<void> {
    const { directoryPort } = this.plan
    if (directoryPort === undefined) return
    const url = `ldap://127.0.0.1:${directoryPort}`
    this.start('directory', url, directoryServer(this.home, directoryPort))
    await this.until(() => isListening(url))
    this.reportStarted('directory')
  }

  private async startServices(): Promise<NotReady[]> {
    const issued = await ensurePlannedCertificates(this.home, this.plan, this.options.certificateHosts)
    if (issued.length > 0) this.report(`Issued ${countOf(issued.length, 'certificate')}`)
    if (this.plan.hasTls) this.trusted = readFileSync(trustStoreFile(this.home.pki), 'utf8')
    for (const service of this.plan.services)
      this.start(service.role, service.url, serviceSpec(this.home, service, this.options.watch))
    const waits = this.plan.services.map((service) => this.waitForService(service))
    return (await Promise.all(waits)).filter((notReady) => notReady !== undefined)
  }

  private async waitForService({ role, instance, url }: ServicePlan): Promise<NotReady | undefined> {
    const deadline = performance.now() + (this.options.readyTimeoutMs ?? readyTimeoutMs)
    let reportAfter = performance.now() + quietWaitMs
    let problem: string | undefined
    let reported: string | undefined
    const probe = createHealthProbe(url, this.trusted)
    const mayBeReady = () => role === 'coordinator' || this.hasReadyCoordinator()
    let nextQueryAt = 0
    const isReady = await this.until(async () => {
      if (!mayBeReady() && performance.now() < nextQueryAt) return false
      nextQueryAt = performance.now() + waitingPollMs
      const health = await probe.fetch()
      problem = health.problem ?? problem
      // All services wait for Postgres, and then for a coordinator. Until then, their reasons are not worth reporting.
      if (!this.ready.has('postgres') || !mayBeReady()) reportAfter = performance.now() + quietWaitMs
      if (problem !== undefined && problem !== reported && performance.now() > reportAfter) {
        this.report(`Waiting for ${instance}: ${asClause(problem)}`)
        reported = problem
      }
      return health.isHealthy
    }, deadline).finally(probe.close)
    if (isReady) {
      this.reportStarted(instance)
      if (role === 'coordinator') this.options.onCoordinator?.(url)
      return undefined
    }
    return { instance, problem: problem ?? lastErrorIn(this.linesOf(instance)) ?? 'no response' }
  }

  /** Waits until a condition is true. Returns false if the deadline passes first. */
  private async until(isMet: () => Promise<boolean>, deadline = Number.POSITIVE_INFINITY): Promise<boolean> {
    while (!(await isMet())) {
      this.signal.throwIfAborted()
      if (performance.now() >= deadline) return false
      await delay(pollMs)
    }
    this.signal.throwIfAborted()
    return true
  }

  private start(role: string, url: string, spec: ProcessSpec): void {
    this.signal.throwIfAborted()
    this.logSizes.set(spec.instance, statSync(spec.logFile, { throwIfNoEntry: false })?.size ?? 0)
    const { environment } = this.options
    const env = { ...(spec.env ?? process.env), ...environment?.(spec.instance) }
    this.processes.start({ role, url, spec: environment ? { ...spec, env } : spec })
  }

  private hasReadyCoordinator(): boolean {
    return this.plan.services.some(({ role, instance }) => role === 'coordinator' && this.ready.has(instance))
  }

  private onEnd(end: ProcessEnd): void {
    if (end.restartDelayMs === undefined) return
    // A process that exits on its own before it was ever ready would do so again; a signal comes from outside.
    const failed = end.status !== 0 && !end.reason.startsWith('signal') && !this.ready.has(end.instance)
    if (this.isStarting && failed) {
      this.failure.abort(this.startFailure(end))
    } else {
      this.options.onEnd?.(end)
    }
  }

  private linesOf(instance: string): string[] {
    return lastLines(logFile(this.home, instance), this.logSizes.get(instance))
  }

  private startFailure({ instance, reason }: ProcessEnd): Failure {
    const lines = this.linesOf(instance)
    // Postgres and Redis report a full disk in various ways, not always as an error.
    if (lines.some((line) => line.includes('No space left on device'))) return diskFull(this.home.root)
    const log = `see its log [${logFile(this.home, instance)}]`
    const cause =
      instance === 'redis'
        ? `${redisErrorIn(lines) ?? reason}; ${log}`
        : (lastErrorIn(lines) ?? `${reason}; ${log}`)
    return unavailable(`Failed to start ${instance}: ${cause}`)
  }

  private reportStarted(instance: string): void {
    this.ready.add(instance)
    this.report(`Started ${instance}`)
  }

  /** Reports a step. A download takes long, and on a terminal, a step replaces the one before it. */
  private report(step: string): void {
    const isDuring = this.isDownloading && !step.startsWith('Downloading')
    this.options.onStep?.(isDuring ? `${step} (downloading Redis…)` : step)
  }

  private running(passwords: Passwords, notReady: readonly NotReady[]): Cluster {
    const processes = this.processes
    const trusted = this.trusted
    const urls = Object.fromEntries(this.plan.services.map(({ instance, url }) => [instance, url]))
    return {
      home: this.home,
      plan: this.plan,
      routerUrl: this.plan.routerUrl,
      urls,
      adminPassword: passwords.admin,
      trusted,
      notReady,
      processes: () => processes.list(),
      kill: (instance, signal) => processes.kill(instance, signal),
      waitUntilReady: (instance, timeoutMs = readyTimeoutMs) => {
        const expectHealth = async () => {
          const { isHealthy, problem } = await fetchHealth(urls[instance]!, trusted)
          if (isHealthy) return
          throw unavailable(`${instance} is not ready after ${timeoutMs} ms: ${problem ?? 'no response'}`)
        }
        return retry(expectHealth, { delayMs: pollMs, timeoutMs })
      },
      stopInstance: (instance) => processes.stopOne(instance),
      startInstance: (instance) => processes.startAgain(instance),
      stop: async () => {
        await processes.stop()
        this.unlock()
      },
    }
  }
}
