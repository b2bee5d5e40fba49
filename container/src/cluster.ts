// The entry point of the image with a complete cluster. The system sends a signal to the first process of a container only
// if the process handles it, so this file handles signals while everything else is still being loaded.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
const exit = () => process.exit()
for (const signal of signals) process.on(signal, exit)
const { runCluster } = await import('./run-cluster.ts')
for (const signal of signals) process.off(signal, exit)
await runCluster()
