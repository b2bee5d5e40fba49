// The entry point of the image with a complete cluster: starts all servers, Postgres, and Valkey in this container, and
// keeps them running until a signal. All state is in the home, which is a volume.
import { writeFileSync } from 'node:fs'
import { type Cluster, startCluster } from '@svc/cli/cluster'
import { exitStatusOf, stopRequest } from '@svc/cli/exit'
import { defaultHome, secretFile } from '@svc/cli/home'
import { trustStoreFile } from '@svc/cli/pki'
import { readContainerOptions } from './cluster-options.ts'
import { type OwnAddress, ownAddressFile } from './own-address.ts'

const print = (text: string) => process.stdout.write(`${text}\n`)

const { signal, requested } = stopRequest()
try {
  const options = readContainerOptions(process.env)
  // The servers do not need it, and their environment is easy to read.
  delete process.env.SVC_ADMIN_PASSWORD
  const cluster = await startCluster({
    ...options,
    home: defaultHome,
    signal,
    onStep: print,
    onEnd: ({ instance, reason }) => print(`${instance} exited (${reason}); restarting`),
  })
  for (const { instance, problem } of cluster.notReady) print(`${instance} is not ready: ${problem}`)
  writeFileSync(ownAddressFile, JSON.stringify(addressOf(cluster)))
  print(`Ready: ${cluster.routerUrl}`)
  if (cluster.adminPassword !== undefined)
    print(
      `Log in as admin. To print the password (stored in ${secretFile(cluster.home, 'admin-password')}), run svc password`,
    )
  if (cluster.trusted !== undefined) print(`Certificate to trust: ${trustStoreFile(cluster.home.pki)}`)
  await requested
  print('Stopping…')
  await cluster.stop()
} catch (error) {
  process.exitCode = exitStatusOf(error)
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
