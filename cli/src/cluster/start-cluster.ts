import { existsSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { conflict, unavailable } from '@svc/domain/failure'
import {
  deleteHome,
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
import { lastComplaint, lastLines } from '../logs/index.ts'
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
import { findRedis, redisServer } from '../redis/index.ts'
import type { ProcessEnd, ProcessSpec } from '../supervisor/index.ts'
import { adoptAdminPassword, hasFirstAdminPassword } from './admin-password.ts'
import { ClusterProcesses } from './cluster-processes.ts'
import { endLeftovers } from './end-cluster.ts'
import { checkPortsAreFree } from './free-ports.ts'
import { askHealth, isListening } from './health.ts'
import { parseOptions, type WrittenOptions } from './options.ts'
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

/** What to start and how to tell of it. */
export interface StartOptions extends WrittenOptions {
  /** The folder that holds all state; made when it is not there. */
  readonly home: string
  /** Whether a refused start is to leave nothing there; left out where this process itself makes the home. */
  readonly isNewHome?: boolean | undefined
  /** The first password of the user `admin`; a random one when left out. */
  readonly adminPassword?: string | undefined
  /** Postgres and Redis only, for tests that bring their own services. */
  readonly storesOnly?: boolean | undefined
  /** Services start again when their source changes. */
  readonly watch?: boolean | undefined
  /** Variables of a process beside those that it has anyway, by its instance, for tests that spoil what it sees. */
  readonly environment?: ((instance: string) => Readonly<Record<string, string>>) | undefined
  /** How long to wait for services that run but are not ready; they are then told in `notReady`. */
  readonly readyTimeoutMs?: number | undefined
  /** Ends the start, and what it had started, when aborted. */
  readonly signal?: AbortSignal | undefined
  /** Called for each thing that was done, in one short text. */
  readonly onStep?: ((step: string) => void) | undefined
  /** Called when a process of the running cluster ended by itself. */
  readonly onEnd?: ((end: ProcessEnd) => void) | undefined
}

/** A service that runs but does not serve yet. */
export interface NotReady {
  readonly instance: string
  readonly problem: string
}

/** A cluster that was started by this process and ends with it. */
export interface Cluster {
  readonly home: HomeLayout
  readonly plan: ClusterPlan
  readonly routerUrl: string
  /** URL by instance. */
  readonly urls: Readonly<Record<string, string>>
  /** The admin's first password; undefined in the plain profile. */
  readonly adminPassword: string | undefined
  /** The certificate to trust, PEM; undefined without TLS. */
  readonly trusted: string | undefined
  /** The services that were not ready when the patience ended; empty when all is well. */
  readonly notReady: readonly NotReady[]
  /** Everything that runs, Postgres and Redis included. */
  processes(): readonly RunningProcess[]
  /** Sends a signal that ends an instance; returns when it is gone. The supervisor then starts it again. */
  kill(instance: string, signal: NodeJS.Signals): Promise<void>
  /** Waits until a service serves (again); throws a Failure when it does not within `timeoutMs`. */
  waitUntilReady(instance: string, timeoutMs?: number): Promise<void>
  /** Stops one instance in an orderly way; it stays down until `startInstance`. */
  stopInstance(instance: string): Promise<void>
  startInstance(instance: string): void
  /** Stops everything; returns when no process is left. */
  stop(): Promise<void>
}

const READY_TIMEOUT_MS = 60_000
const POLL_MS = 20
/** After so long, what keeps a service from being ready is told while it is waited for. */
const PATIENCE_MS = 5000

/** What was brought from elsewhere stands here, for all homes of this checkout. */
const redisCache = path.join(repositoryRoot, '.cache/redis')

/**
 * Starts a cluster and returns when all its services are ready to serve, or run but are not ready in time. Throws a
 * Failure with one clear message when it cannot; then everything that was started is stopped again.
 */
export async function startCluster(options: StartOptions): Promise<Cluster> {
  const layout = homeLayout(options.home)
  const surroundings = {
    home: layout,
    dataFolder: path.join(repositoryRoot, 'data'),
    virtualServers: virtualServersOf(layout, options),
  }
  const plan = planCluster(parseOptions(options), surroundings)
  const wanted = options.storesOnly ? { ...plan, services: [], hasTls: false } : plan
  checkAdminPassword(options.adminPassword)
  const isNew = options.isNewHome ?? !isHome(layout)
  const home = openHome(options.home)
  const unlock = lockHome(home)
  const start = new ClusterStart(home, wanted, options, unlock)
  let mayStart = false
  try {
    const passwords = await start.prepare()
    mayStart = true
    return await start.run(passwords)
  } catch (error) {
    unlock()
    // What is refused before anything was started in it leaves no home behind.
    if (isNew && !mayStart) deleteHome(home)
    throw storageFailure(error, home.root)
  }
}

/** The virtual servers that a home was made with. Throws a Failure where others are wanted beside them. */
function virtualServersOf(home: HomeLayout, { historicals }: StartOptions): string | undefined {
  if (!existsSync(home.virtualServers)) return undefined
  if (historicals !== undefined) {
    throw conflict(
      `Option --historicals is not for home [${home.root}]: its segments have no bytes, so only its virtual servers load them`,
    )
  }
  return readFileSync(home.virtualServers, 'utf8').trim()
}

/** One start: what its steps share, and what ends all of them when one fails. */
class ClusterStart {
  readonly #home: HomeLayout
  readonly #plan: ClusterPlan
  readonly #options: StartOptions
  readonly #unlock: () => void
  readonly #processes: ClusterProcesses
  readonly #failure = new AbortController()
  readonly #signal: AbortSignal
  /** How long each log was before this start: what came later is about this start. */
  readonly #logSizes = new Map<string, number>()
  readonly #ready = new Set<string>()
  #trusted: string | undefined
  #isStarting = true

  constructor(home: HomeLayout, plan: ClusterPlan, options: StartOptions, unlock: () => void) {
    this.#home = home
    this.#plan = plan
    this.#options = options
    this.#unlock = unlock
    this.#processes = new ClusterProcesses(home, plan, (end) => this.#onEnd(end))
    this.#signal = options.signal
      ? AbortSignal.any([options.signal, this.#failure.signal])
      : this.#failure.signal
  }

  /** Makes passwords and configuration. Throws a Failure where the cluster cannot run so, here, or on these ports. */
  async prepare(): Promise<Passwords> {
    const leftovers = await endLeftovers(this.#home)
    if (leftovers > 0) this.#tell(`ended ${leftovers} processes of an earlier cluster`)
    checkDataFolder(this.#home)
    await checkPortsAreFree(this.#plan)
    const { adminPassword } = this.#options
    const mayAdopt = !hasFirstAdminPassword(this.#home)
    const passwords = ensurePasswords(this.#home, this.#plan, adminPassword)
    writeConfiguration(this.#home, this.#plan)
    checkConfiguration(this.#home, this.#plan)
    if (passwords.admin === undefined || !mayAdopt) return passwords
    return { ...passwords, admin: adoptAdminPassword(this.#home, this.#plan, adminPassword) }
  }

  async run(passwords: Passwords): Promise<Cluster> {
    const begun: Promise<unknown>[] = []
    try {
      // Services try again until their stores answer, so nobody waits for anybody.
      const services = this.#startServices()
      const postgres = this.#startPostgres(passwords.postgres)
      begun.push(services, postgres)
      const others = [this.#startRedis(passwords.redis), this.#startDirectory()]
      const [notReady] = await Promise.all([services, postgres, ...others])
      this.#signal.throwIfAborted()
      this.#isStarting = false
      return this.#running(passwords, notReady)
    } catch (error) {
      this.#failure.abort(error)
      // A data folder that is just being made is cleared away before this ends.
      await Promise.allSettled(begun)
      await this.#processes.stop()
      throw error
    }
  }

  async #startPostgres(password: string): Promise<void> {
    const { postgresPort } = this.#plan
    const runAs = decideRunAs(this.#home, postgresBinaries())
    const isNew = await ensureDataFolder(this.#home, runAs, password, this.#signal)
    if (isNew) this.#tell('postgres set up')
    removeStalePidFile(this.#home)
    this.#start(
      'postgres',
      `postgres://127.0.0.1:${postgresPort}`,
      postgresServer(this.#home, runAs, postgresPort),
    )
    await this.#until(async () => {
      const pid = this.#processes.identityOf('postgres')?.pid
      return pid !== undefined && isPostgresReady(this.#home, pid)
    })
    this.#tellReady('postgres')
  }

  async #startRedis(password: string): Promise<void> {
    const onDownload = () => this.#tell('bringing a Redis server from the package archive …')
    const program = await findRedis({
      searchPath: process.env.PATH ?? '',
      cacheFolder: redisCache,
      onDownload,
    })
    const { redisPort } = this.#plan
    const url = `redis://127.0.0.1:${redisPort}`
    this.#start('redis', url, redisServer(this.#home, program, redisPort, password))
    await this.#until(() => isListening(url))
    this.#tellReady('redis')
  }

  async #startDirectory(): Promise<void> {
    const { directoryPort } = this.#plan
    if (directoryPort === undefined) return
    const url = `ldap://127.0.0.1:${directoryPort}`
    this.#start('directory', url, directoryServer(this.#home, directoryPort))
    await this.#until(() => isListening(url))
    this.#tellReady('directory')
  }

  async #startServices(): Promise<NotReady[]> {
    const issued = await ensurePlannedCertificates(this.#home, this.#plan)
    if (issued.length > 0) this.#tell(`certificates issued for ${issued.length} instances`)
    if (this.#plan.hasTls) this.#trusted = readFileSync(trustStoreFile(this.#home.pki), 'utf8')
    for (const service of this.#plan.services)
      this.#start(service.role, service.url, serviceSpec(this.#home, service, this.#options.watch))
    const waits = this.#plan.services.map((service) => this.#waitForService(service))
    return (await Promise.all(waits)).filter((notReady) => notReady !== undefined)
  }

  async #waitForService({ instance, url }: ServicePlan): Promise<NotReady | undefined> {
    const deadline = performance.now() + (this.#options.readyTimeoutMs ?? READY_TIMEOUT_MS)
    const tellAfter = performance.now() + PATIENCE_MS
    let problem: string | undefined
    let told: string | undefined
    const isReady = await this.#until(async () => {
      const health = await askHealth(url, this.#trusted)
      problem = health.problem ?? problem
      if (problem !== undefined && problem !== told && performance.now() > tellAfter) {
        this.#tell(`${instance} is not ready yet: ${problem}`)
        told = problem
      }
      return health.isHealthy
    }, deadline)
    if (isReady) {
      this.#tellReady(instance)
      return undefined
    }
    return { instance, problem: problem ?? this.#complaintOf(instance) ?? 'it does not answer' }
  }

  /** Waits until something holds; false when the deadline comes first. */
  async #until(holds: () => Promise<boolean>, deadline = Number.POSITIVE_INFINITY): Promise<boolean> {
    while (!(await holds())) {
      this.#signal.throwIfAborted()
      if (performance.now() >= deadline) return false
      await delay(POLL_MS)
    }
    this.#signal.throwIfAborted()
    return true
  }

  #start(role: string, url: string, spec: ProcessSpec): void {
    this.#signal.throwIfAborted()
    this.#logSizes.set(spec.instance, statSync(spec.logFile, { throwIfNoEntry: false })?.size ?? 0)
    const { environment } = this.#options
    const env = { ...(spec.env ?? process.env), ...environment?.(spec.instance) }
    this.#processes.start({ role, url, spec: environment ? { ...spec, env } : spec })
  }

  #onEnd(end: ProcessEnd): void {
    if (end.restartDelayMs === undefined) return
    // What gives up by itself before it ever was ready would do so again; a signal came from outside.
    const gaveUp = end.status !== 0 && !end.reason.startsWith('signal') && !this.#ready.has(end.instance)
    if (this.#isStarting && gaveUp) {
      const why = this.#complaintOf(end.instance) ?? end.reason
      this.#failure.abort(unavailable(`${end.instance} does not start: ${why}`))
    } else {
      this.#options.onEnd?.(end)
    }
  }

  #complaintOf(instance: string): string | undefined {
    return lastComplaint(lastLines(logFile(this.#home, instance), this.#logSizes.get(instance)))
  }

  #tellReady(instance: string): void {
    this.#ready.add(instance)
    this.#tell(`${instance} ready`)
  }

  #tell(step: string): void {
    this.#options.onStep?.(step)
  }

  #running(passwords: Passwords, notReady: readonly NotReady[]): Cluster {
    const processes = this.#processes
    const trusted = this.#trusted
    const urls = Object.fromEntries(this.#plan.services.map(({ instance, url }) => [instance, url]))
    return {
      home: this.#home,
      plan: this.#plan,
      routerUrl: this.#plan.routerUrl,
      urls,
      adminPassword: passwords.admin,
      trusted,
      notReady,
      processes: () => processes.list(),
      kill: (instance, signal) => processes.kill(instance, signal),
      waitUntilReady: async (instance, timeoutMs = READY_TIMEOUT_MS) => {
        const deadline = performance.now() + timeoutMs
        for (;;) {
          const { isHealthy, problem } = await askHealth(urls[instance]!, trusted)
          if (isHealthy) return
          if (performance.now() >= deadline) {
            throw unavailable(
              `${instance} is not ready after ${timeoutMs} ms: ${problem ?? 'it does not answer'}`,
            )
          }
          await delay(POLL_MS)
        }
      },
      stopInstance: (instance) => processes.stopOne(instance),
      startInstance: (instance) => processes.startAgain(instance),
      stop: async () => {
        await processes.stop()
        this.#unlock()
      },
    }
  }
}
