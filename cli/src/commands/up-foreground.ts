import { type StartOptions, startCluster } from '../cluster/index.ts'
import { keepConsoleCurrent } from '../console-build/index.ts'
import { stopRequest } from '../exit/index.ts'
import { formatSeconds } from '../terminal/index.ts'
import { summarize } from './summarize-cluster.ts'
import { printSummary, stepDisplay } from './up-summary.ts'

/** Options of a run in the foreground, in addition to those of the cluster. */
export interface ForegroundOptions extends StartOptions {
  readonly json?: boolean
}

/** Starts the cluster, prints what happens, and keeps it running until a signal. */
export async function runInForeground(options: ForegroundOptions): Promise<void> {
  // With --json, standard output contains only the JSON document.
  const out = options.json ? process.stderr : process.stdout
  const { signal, requested } = stopRequest()
  const steps = stepDisplay(out)
  const cluster = await startCluster({
    ...options,
    signal,
    onStep: steps.show,
    onEnd: ({ instance, reason, restartDelayMs = 0 }) => {
      out.write(`${instance} exited (${reason}); restarting in ${formatSeconds(restartDelayMs)}\n`)
    },
  }).finally(steps.end)
  printSummary(summarize(cluster), options)
  keepConsoleCurrent((problem) => out.write(`${problem}\n`))
  if (!options.json) out.write('Press Ctrl-C to stop the cluster.\n')
  await requested
  out.write('Stopping…\n')
  await cluster.stop()
  out.write('Stopped.\n')
}
