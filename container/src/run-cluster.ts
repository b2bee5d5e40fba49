import { writeFileSync } from 'node:fs'
import { type Cluster, startCluster } from '@svc/cli/cluster'
import { exitStatusOf, stopRequest } from '@svc/cli/exit'
import { defaultHome, secretFile } from '@svc/cli/home'
import { trustStoreFile } from '@svc/cli/pki'
import { Failure } from '@svc/domain/failure'
import { readContainerOptions } from './cluster-options.ts'
import { containerMessage } from './container-message.ts'
import { type OwnAddress, ownAddressFile } from './own-address.ts'
import { checkTemporaryFolder } from './temporary-folder.ts'
import { untilReady } from './until-ready.ts'

const print = (text: string) => process.stdout.write(`${text}\n`)

/**
 * Starts all servers, Postgres, and Valkey in this container, and keeps them running until a signal. All state is in the
 * home, which is a volume.
 */
export async function runCluster(): Promise<void> {
  const { signal, requested } = stopRequest()
  try {
    const options = readContainerOptions(process.env)
    checkTemporaryFolder()
    // The servers do not need it, and their environment is easy to read.
    delete process.env.SVC_ADMIN_PASSWORD
    const cluster = await startCluster({
      ...options,
      home: defaultHome,
      signal,
      onStep: print,
      onEnd: ({ instance, reason }) => print(`${instance} exited (${reason}); restarting`),
    })
    try {
      writeFileSync(ownAddressFile, JSON.stringify(addressOf(cluster)))
      for (const { instance, problem } of cluster.notReady) print(`${instance} is not ready: ${problem}`)
      // Clients wait for the line that says that the cluster is ready.
      await untilReady(cluster, signal)
      if (!signal.aborted) printReady(cluster)
      await requested
      print('Stopping…')
    } finally {
      await cluster.stop()
    }
  } catch (error) {
    if (signal.aborted && error === signal.reason) {
      print('Stopped before the cluster was ready')
    } else {
      if (error instanceof Failure) error.message = containerMessage(error.message)
      process.exitCode = exitStatusOf(error)
    }
  }
}

function printReady({ routerUrl, adminPassword, trusted, home }: Cluster): void {
  print(`Ready: ${routerUrl}`)
  if (adminPassword !== undefined)
    print(
      `Log in as admin. To print the password (stored in ${secretFile(home, 'admin-password')}), run svc password`,
    )
  if (trusted !== undefined) print(`Certificate to trust: ${trustStoreFile(home.pki)}`)
}

/** The address of the router, for the health check. */
function addressOf({ routerUrl, trusted, home }: Cluster): OwnAddress {
  const { protocol, port } = new URL(routerUrl)
  return {
    host: 'localhost',
    port: Number(port),
    isTls: protocol === 'https:',
    trustStore: trusted === undefined ? undefined : trustStoreFile(home.pki),
  }
}
