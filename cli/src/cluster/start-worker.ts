import { conflict, invalidInput, timedOut, unavailable } from '@svc/domain/failure'
import { loadSettings } from '@svc/shared/config'
import { retry } from '@svc/shared/retry'
import { parseOptions } from '../cluster-options/index.ts'
import {
  claimAddedProcess,
  type HomeLayout,
  homeArgument,
  lockHolder,
  logFile,
  readRunFile,
  removeAddedProcess,
  writeAddedProcess,
} from '../home/index.ts'
import { lastErrorIn, lastLines } from '../logs/index.ts'
import { type ProcessEnd, Supervisor } from '../supervisor/index.ts'
import { isPortFree } from './free-ports.ts'
import { fetchHealth } from './health.ts'
import { type Properties, planAddedWorker, portOffsetOf, type ServicePlan } from './plan-cluster.ts'
import { certificatesFor } from './prepare-home.ts'
import { readTrusted } from './read-trusted.ts'
import { serviceSpec } from './service-spec.ts'
import {
  commonPropertiesFile,
  runtimePropertiesFile,
  writeInstanceConfiguration,
} from './write-configuration.ts'

/** A worker to add to a running cluster. */
export interface WorkerOptions {
  readonly home: HomeLayout
  /** Maximum number of concurrent tasks. */
  readonly capacity: number
  /** Additional properties, each as `name=value`. */
  readonly set: readonly string[]
  readonly signal: AbortSignal
  readonly onEnd?: ((end: ProcessEnd) => void) | undefined
}

/** A worker supervised by this process. */
export interface RunningWorker {
  readonly instance: string
  readonly url: string
  /** Stops it gracefully: its tasks restart on other workers. */
  stop(): Promise<void>
}

const maxAdded = 32
// Added workers use ports above the planned ones, shifted by the port offset of the cluster.
const firstPort = 8700
const readyTimeoutMs = 60_000
const pollMs = 50

/** Adds a worker to the running cluster of a home. Returns when the worker is ready. */
export async function startWorker(options: WorkerOptions): Promise<RunningWorker> {
  const { home } = options
  const run = readRunFile(home)
  if (run === undefined || lockHolder(home) === undefined) {
    throw conflict(
      `No cluster is running in [${home.root}]. Start one with ./svc up${homeArgument(home.root)} before you add a worker.`,
    )
  }
  const instance = claimName(home)
  const supervisor = new Supervisor({
    onStart: () => record(),
    onEnd: (end) => {
      record()
      options.onEnd?.(end)
    },
  })
  let service: ServicePlan | undefined
  const record = (): void => {
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
    await untilReady(service.url, readTrusted(home), () => lastErrorOf(home, instance), options.signal)
    return { instance, url: service.url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function claimName(home: HomeLayout): string {
  for (let number = 1; number <= maxAdded; number++) {
    const instance = `worker-added-${number}`
    if (claimAddedProcess(home, instance)) return instance
  }
  throw conflict(
    `The cluster in [${home.root}] already has [${maxAdded}] added workers, which is the maximum`,
  )
}

/** Writes the configuration of the worker and, if the cluster uses TLS, its certificate. */
async function configure(
  home: HomeLayout,
  instance: string,
  fromPort: number,
  { capacity, set }: WorkerOptions,
): Promise<ServicePlan> {
  // The common file alone is not a valid configuration: key stores are configured per service.
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
      `Invalid target [${foreign.target}] in [--set]: expected a property of the worker, without a role`,
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
  for (let port = from; port < from + 2 * maxAdded; port++) if (await isPortFree(port, [host])) return port
  throw unavailable(`Found no free port from [${from}] to [${from + 2 * maxAdded - 1}] for the worker`)
}

async function untilReady(
  url: string,
  trusted: string | undefined,
  lastError: () => string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const expectHealth = async () => {
    const { isHealthy, problem } = await fetchHealth(url, trusted)
    if (isHealthy) return
    throw timedOut(
      `The worker is not ready after ${readyTimeoutMs} ms: ${problem ?? lastError() ?? 'no response'}`,
    )
  }
  await retry(expectHealth, { delayMs: pollMs, timeoutMs: readyTimeoutMs, signal })
}

const lastErrorOf = (home: HomeLayout, instance: string): string | undefined =>
  lastErrorIn(lastLines(logFile(home, instance)))
