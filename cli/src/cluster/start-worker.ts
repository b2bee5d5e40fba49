import { setTimeout as delay } from 'node:timers/promises'
import { conflict, invalidInput, unavailable } from '@svc/domain/failure'
import { loadSettings } from '@svc/shared/config'
import {
  claimAddedProcess,
  type HomeLayout,
  lockHolder,
  logFile,
  readRunFile,
  removeAddedProcess,
  writeAddedProcess,
} from '../home/index.ts'
import { lastComplaint, lastLines } from '../logs/index.ts'
import { type ProcessEnd, Supervisor } from '../supervisor/index.ts'
import { isPortFree } from './free-ports.ts'
import { askHealth } from './health.ts'
import { parseOptions } from './options.ts'
import { type Properties, planAddedWorker, portOffsetOf, type ServicePlan } from './plan-cluster.ts'
import { certificatesFor } from './prepare-home.ts'
import { readTrusted } from './read-trusted.ts'
import { serviceSpec } from './service-spec.ts'
import {
  commonPropertiesFile,
  runtimePropertiesFile,
  writeInstanceConfiguration,
} from './write-configuration.ts'

/** What a worker is that is added to a running cluster. */
export interface WorkerOptions {
  readonly home: HomeLayout
  /** Tasks that it runs at a time. */
  readonly capacity: number
  /** Further properties, each as `name=value`. */
  readonly set: readonly string[]
  readonly signal: AbortSignal
  readonly onEnd?: ((end: ProcessEnd) => void) | undefined
}

/** A worker that this process supervises. */
export interface RunningWorker {
  readonly instance: string
  readonly url: string
  /** Ends it in an orderly way: its tasks go on at other workers. */
  stop(): Promise<void>
}

const mostAdded = 32
// Added workers listen above the ports of those that are planned, which move with the offset of the cluster.
const firstPort = 8700
const readyTimeoutMs = 60_000
const pollMs = 50

/** Adds a worker to the running cluster of a home; returns when it is ready. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { home } = options
  const run = readRunFile(home)
  if (run === undefined || lockHolder(home) === undefined) {
    throw conflict(
      `Nothing is running in [${home.root}]. Start the cluster with ./svc up before you add a worker.`,
    )
  }
  const instance = claimName(home)
  const supervisor = new Supervisor({
    onStart: () => note(),
    onEnd: (end) => {
      note()
      options.onEnd?.(end)
    },
  })
  let service: ServicePlan | undefined
  const note = (): void => {
    if (service === undefined) return
    const running = supervisor.identityOf(instance)
    writeAddedProcess(home, {
      instance,
      role: service.role,
      url: service.url,
      ...(running ? { process: running } : {}),
      state: running ? 'running' : 'restarting',
      restarts: supervisor.restartsOf(instance),
    })
  }
  const stop = async (): Promise<void> => {
    await supervisor.stop([instance])
    supervisor.close()
    removeAddedProcess(home, instance)
  }
  try {
    service = await configure(home, instance, firstPort + portOffsetOf(run.routerUrl), options)
    supervisor.start(serviceSpec(home, service))
    await untilReady(service.url, readTrusted(home), () => complaintOf(home, instance), options.signal)
    return { instance, url: service.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function claimName(home: HomeLayout): string {
  for (let number = 1; number <= mostAdded; number++) {
    const instance = `worker-added-${number}`
    if (claimAddedProcess(home, instance)) return instance
  }
  throw conflict(
    `[${mostAdded}] workers were added to the cluster of [${home.root}] already; allowed are no more`,
  )
}

/** Writes what the worker is started with: properties and, where the cluster speaks TLS, a certificate. */
async function configure(
  home: HomeLayout,
  instance: string,
  fromPort: number,
  { capacity, set }: WorkerOptions,
): Promise<ServicePlan> {
  // By itself the file for all is no configuration: key stores are named in those of single services.
  const files = [commonPropertiesFile(home), runtimePropertiesFile(home, 'coordinator')]
  const known = loadSettings('coordinator', files, {})
  const common: Properties = {
    'svc.host': known.get('svc.host'),
    'svc.enableTlsPort': String(known.get('svc.enableTlsPort')),
    'svc.enablePlaintextPort': String(known.get('svc.enablePlaintextPort')),
  }
  const settings = parseOptions({ set }).set
  const foreign = settings.find(({ target }) => target !== undefined)
  if (foreign) {
    throw invalidInput(
      `Option --set is for [${foreign.target}], allowed are properties of the worker itself, without a role`,
    )
  }
  const properties: Properties = {
    'svc.worker.capacity': String(capacity),
    ...Object.fromEntries(settings.map(({ name, value }) => [name, value])),
  }
  const host = properties['svc.host'] ?? known.get('svc.host')
  const port = await freePort(fromPort, host)
  const service = planAddedWorker(home, common, { instance, port, properties })
  writeInstanceConfiguration(home, service)
  if (service.url.startsWith('https:')) await certificatesFor(home, [instance], [host])
  return service
}

async function freePort(from: number, host: string): Promise<number> {
  for (let port = from; port < from + 2 * mostAdded; port++) if (await isPortFree(port, [host])) return port
  throw unavailable(`No port from [${from}] to [${from + 2 * mostAdded - 1}] is free for a worker`)
}

async function untilReady(
  url: string,
  trusted: string | undefined,
  complaint: () => string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const deadline = performance.now() + readyTimeoutMs
  for (;;) {
    signal.throwIfAborted()
    const { isHealthy, problem } = await askHealth(url, trusted)
    if (isHealthy) return
    if (performance.now() >= deadline) {
      throw unavailable(
        `The worker is not ready after ${readyTimeoutMs} ms: ${problem ?? complaint() ?? 'it does not answer'}`,
      )
    }
    await delay(pollMs)
  }
}

const complaintOf = (home: HomeLayout, instance: string): string | undefined =>
  lastComplaint(lastLines(logFile(home, instance)))
