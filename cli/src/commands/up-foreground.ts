import { type StartOptions, startCluster } from '../cluster/index.ts'
import { formatSeconds } from '../terminal/index.ts'
import { stopRequest } from './stop-request.ts'
import { summarize, tellStep, tellSummary } from './summary.ts'

/** What a run in the foreground needs besides the cluster's own options. */
export interface ForegroundOptions extends StartOptions {
  readonly json?: boolean
}

/** Starts the cluster, tells what it does, and keeps it running until a signal asks for the end. */
export async function runInForeground(options: ForegroundOptions): Promise<void> {
  // With --json, standard output is for the one JSON document.
  const out = options.json ? process.stderr : process.stdout
  const { signal, requested } = stopRequest()
  const cluster = await startCluster({
    ...options,
    signal,
    onStep: (step) => tellStep(out, step),
    onEnd: ({ instance, reason, restartDelayMs = 0 }) => {
      out.write(`${instance} ended (${reason}), starts again in ${formatSeconds(restartDelayMs)}\n`)
    },
  })
  tellSummary(summarize(cluster), options)
  if (!options.json) out.write('Ctrl-C stops everything.\n')
  await requested
  out.write('Stopping …\n')
  await cluster.stop()
  out.write('Stopped.\n')
}
