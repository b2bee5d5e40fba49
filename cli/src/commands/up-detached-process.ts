// The process that ./svc up --detach leaves running. It receives its options from the command that started it over an
// IPC channel, reports its progress there, and keeps running when that command exits.
import { describeError, Failure } from '@svc/domain/failure'
import { stackOf } from '@svc/shared/runtime'
import { startCluster } from '../cluster/index.ts'
import { keepConsoleCurrent } from '../console-build/index.ts'
import { exitStatus, stopRequest } from '../exit/index.ts'
import { summarize } from './summarize-cluster.ts'
import type { DetachedMessage, DetachedOptions } from './up-detached.ts'

const { signal, requested } = stopRequest()
const options = await new Promise<DetachedOptions>((resolve) => {
  process.once('message', (message) => resolve(message as DetachedOptions))
})
try {
  const cluster = await startCluster({
    ...options,
    signal,
    onStep: (step) => report({ kind: 'step', step }),
    onCoordinator: (url) => report({ kind: 'coordinator', url }),
  })
  report({ kind: 'ready', summary: summarize(cluster) })
  const keepCurrent = () => keepConsoleCurrent((problem) => console.error(problem))
  // While the command still waits until the cluster is known, every processor is busy.
  if (process.connected) process.once('disconnect', keepCurrent)
  else keepCurrent()
  await requested
  await cluster.stop()
  process.exit(exitStatus.done)
} catch (error) {
  const code = error instanceof Failure ? error.code : 'internalServerError'
  report({ kind: 'failed', code, message: describeError(error) })
  if (!(error instanceof Failure)) process.stderr.write(`${stackOf(error) ?? String(error)}\n`)
  process.exitCode = exitStatus.failed
  if (process.connected) process.disconnect?.()
}

function report(message: DetachedMessage): void {
  if (process.connected) process.send!(message)
}
