import { unavailable } from '@svc/domain/failure'
import { type ClusterClient, connectToCluster } from '../client/index.ts'
import { type Cluster, startCluster } from '../cluster/index.ts'
import { ingestFile, type Output, showProgress } from '../ingest/index.ts'
import { emphasized, formatBytes, formatSeconds } from '../terminal/index.ts'
import { type DemoDisplay, openDisplay } from './display.ts'
import { observe } from './observe.ts'
import { stepTimes } from './picture.ts'
import { type DemoHome, planDemo, prepareHome } from './prepare-demo.ts'
import { showStep } from './show-step.ts'
import { demoDays, demoFile, demoSpec, demoSteps } from './steps.ts'

/** Where the demo runs and how it is ended. */
export interface DemoOptions {
  /** Kept afterwards; a temporary one, which is not, when left out. */
  readonly home?: string | undefined
  readonly portOffset?: string | undefined
  /** Keeps a temporary home too. */
  readonly keep?: boolean | undefined
  readonly signal: AbortSignal
  readonly out: Output
  /** Called for each thing that was done while the cluster starts. */
  readonly onStep: (step: string) => void
}

/**
 * Starts a cluster of its own, ingests the shipped data set, sets rules step by step and shows where the segments go.
 * Whether it comes to its end or not, nothing of it runs any more when it returns or throws; a temporary home is gone.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const startedAt = performance.now()
  const { out, signal } = options
  const home = prepareHome(options.home, options.keep ?? false)
  try {
    await runIn(home, options)
  } catch (error) {
    if (!signal.aborted) throw error
    const left = home.isKept ? `home [${home.root}] stays` : 'nothing of it is left'
    throw unavailable(`The demo was stopped: ${left}`)
  } finally {
    home.remove()
    process.removeListener('exit', home.remove)
  }
  const took = formatSeconds(performance.now() - startedAt)
  const kept = home.isKept ? `; the home stays: ./svc up --home ${home.root}` : ' and removed'
  out.write(`Everything is stopped${kept}. The demo took ${took}.\n`)
}

async function runIn(home: DemoHome, { portOffset, out, signal, onStep }: DemoOptions): Promise<void> {
  const written = await planDemo(home.root, portOffset)
  const title = emphasized('A cluster of its own')
  out.write(`${title}: five historicals in three tiers, TLS and log-in, home [${home.root}]\n`)
  const display = openDisplay(out, demoDays())
  const starting = startCluster({
    ...written,
    home: home.root,
    signal,
    onStep,
    onEnd: ({ instance, reason }) => display.print(`${instance} ended (${reason}) and is started again`),
  })
  // For a second Ctrl-C, which ends this process at once: after those who end the cluster's processes then.
  process.once('exit', home.remove)
  const cluster = await starting
  try {
    const [notReady] = cluster.notReady
    if (notReady) throw unavailable(`${notReady.instance} is not ready: ${notReady.problem}`)
    const client = connectToCluster(cluster.home)
    await ingest(client, cluster, out, signal)
    await showSteps(client, cluster, display, signal)
  } finally {
    out.write('Stopping …\n')
    await cluster.stop()
  }
}

async function ingest(
  client: ClusterClient,
  cluster: Cluster,
  out: Output,
  signal: AbortSignal,
): Promise<void> {
  out.write(`\n${emphasized('20,000 flights of 90 days become daily segments')} (data/flights.csv)\n`)
  const progress = showProgress(out)
  try {
    const { durationMs } = await ingestFile(client, cluster.home, {
      file: demoFile,
      spec: demoSpec,
      waitLoaded: false,
      signal,
      onPhase: (phase) => progress.show(phase),
    })
    progress.print(`${formatSeconds(durationMs).padStart(8)}  ingested`)
  } finally {
    progress.end()
  }
}

async function showSteps(
  client: ClusterClient,
  cluster: Cluster,
  display: DemoDisplay,
  signal: AbortSignal,
): Promise<void> {
  const steps = demoSteps()
  const times: { title: string; tookMs: number }[] = []
  for (const [index, step] of steps.entries()) {
    display.print('')
    display.print(emphasized(`Step ${index + 1} of ${steps.length}: ${step.title}`))
    const tookMs = await showStep(cluster, client, step, display, signal)
    times.push({ title: step.title, tookMs })
  }
  const { deepStorage } = await observe(client, demoSpec.dataSource, cluster.home.deepStorage)
  const rest = `${deepStorage.files} files with ${formatBytes(deepStorage.sizeBytes)}`
  for (const line of ['', ...stepTimes(times), '', `Deep storage still has ${rest}.`]) display.print(line)
}
