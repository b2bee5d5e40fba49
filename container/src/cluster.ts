// The program of the image with a complete cluster, which container/entry-point starts. A signal ends it with status 0 while
// everything else is still being loaded.
import { setImmediate } from 'node:timers/promises'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
const exit = () => process.exit()
for (const signal of signals) process.on(signal, exit)
const { runCluster } = await import('./run-cluster.ts')
// The event loop reports signals, and it did not run while modules were evaluated.
await setImmediate()
// From now on, signals stop the cluster.
const running = runCluster()
for (const signal of signals) process.off(signal, exit)
await running
