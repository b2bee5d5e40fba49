import { rmSync } from 'node:fs'
import path from 'node:path'
import { cancelled, unavailable } from '@svc/domain/failure'
import { connectToCluster } from '../client/index.ts'
import { startCluster } from '../cluster/index.ts'
import { homeArgument } from '../home/index.ts'
import { ingestFile, type Output, showProgress } from '../ingest/index.ts'
import { startOfDay, writeSample } from '../sample/index.ts'
import { countOf, emphasized, formatBytes, formatSeconds } from '../terminal/index.ts'
import { openDisplay } from './display.ts'
import { observe } from './observe.ts'
import { stepTimes } from './picture.ts'
import { type DemoHome, planDemo, prepareHome } from './prepare-demo.ts'
import { type DemoRun, showStep } from './show-step.ts'
import { demoDays, demoSample, demoSpec, demoSteps } from './steps.ts'

/** Options of the demo. */
export interface DemoOptions {
  /** Kept afterward. Default: a temporary home, which is deleted. */
  readonly home?: string | undefined
  readonly portOffset?: string | undefined
  /** Whether to keep a temporary home. */
  readonly keep?: boolean | undefined
  readonly signal: AbortSignal
  readonly out: Output
  /** Called for each completed step while the cluster starts. */
  readonly onStep: (step: string) => void
}

/**
 * Starts a temporary cluster, ingests sample data up to today, sets rules step by step, and shows where the segments go.
 * Always stops the cluster and deletes a temporary home before it returns or throws.
 */
export async function runDemo(options: DemoOptions): Promise<void> {
  const startedAt = performance.now()
  const { out, signal } = options
  const home = prepareHome(options.home, options.keep ?? false)
  try {
    await runIn(home, options)
  } catch (error) {
    if (!signal.aborted) throw error
    throw cancelled(
      home.isKept
        ? `Stopped the demo. Its home is [${home.root}].`
        : 'Stopped the demo and deleted its files.',
    )
  } finally {
    home.remove()
    process.removeListener('exit', home.remove)
  }
  const took = formatSeconds(performance.now() - startedAt)
  out.write(
    home.isKept
      ? `Stopped the cluster. Start it again with ./svc up${homeArgument(home.root)}. The demo took ${took}.\n`
      : `Stopped the cluster and deleted its files. The demo took ${took}.\n`,
  )
}

async function runIn(home: DemoHome, { portOffset, out, signal, onStep }: DemoOptions): Promise<void> {
  const written = await planDemo(home.root, portOffset)
  const title = emphasized('Starting a temporary cluster')
  out.write(`${title}: five historicals in three tiers, TLS and logins, home [${home.root}]\n`)
  const endMs = startOfDay(Date.now())
  const days = demoDays(endMs)
  const display = openDisplay(out, days)
  const starting = startCluster({
    ...written,
    home: home.root,
    signal,
    onStep,
    onEnd: ({ instance, reason }) => display.print(`${instance} exited (${reason}); restarting`),
  })
  // A second Ctrl-C exits at once. This listener runs after those that stop the cluster's processes.
  process.once('exit', home.remove)
  const cluster = await starting
  try {
    const [notReady] = cluster.notReady
    if (notReady) throw unavailable(`${notReady.instance} is not ready: ${notReady.problem}`)
    const client = connectToCluster(cluster.home)
    const run = { cluster, client, days, display, signal }
    await ingest(run, endMs, out)
    await showSteps(run)
  } finally {
    out.write('Stopping…\n')
    await cluster.stop()
  }
}

async function ingest({ client, cluster, signal }: DemoRun, endMs: number, out: Output): Promise<void> {
  const title = 'Ingesting 20,000 flights from the last 90 days into daily segments'
  out.write(`\n${emphasized(title)} (./svc sample)\n`)
  const file = path.join(cluster.home.input, 'flights.csv')
  await writeSample(file, { ...demoSample, endMs })
  const progress = showProgress(out)
  try {
    const { durationMs } = await ingestFile(client, cluster.home, {
      file,
      spec: demoSpec,
      waitLoaded: false,
      signal,
      onPhase: (phase) => progress.show(phase),
    })
    progress.print(`${formatSeconds(durationMs).padStart(8)}  Ingested`)
  } finally {
    progress.end()
    rmSync(file, { force: true })
  }
}

async function showSteps(run: DemoRun): Promise<void> {
  const { client, cluster, display } = run
  const steps = demoSteps()
  const times: { title: string; tookMs: number }[] = []
  for (const [index, step] of steps.entries()) {
    display.print('')
    display.print(emphasized(`Step ${index + 1} of ${steps.length}: ${step.title}`))
    const tookMs = await showStep(run, step)
    times.push({ title: step.title, tookMs })
  }
  const { deepStorage } = await observe(client, demoSpec.dataSource, cluster.home.deepStorage)
  const rest = `${countOf(deepStorage.files, 'file')} (${formatBytes(deepStorage.sizeBytes)})`
  for (const line of ['', ...stepTimes(times), '', `Deep storage still contains ${rest}.`])
    display.print(line)
}
