import { existsSync, writeFileSync } from 'node:fs'
import { notFound } from '@svc/domain/failure'
import { ConfigurationError, loadSettings, type Role, type Settings } from '@svc/shared/config'
import { ownHostName, withHostName } from './host-name.ts'
import { type OwnAddress, ownAddressFile } from './own-address.ts'
import { checkTemporaryFolder } from './temporary-folder.ts'

/** Runs the server of a role in this process, under the name of its container. */
export async function serve(role: Role): Promise<void> {
  checkTemporaryFolder()
  const host = await ownHostName()
  Object.assign(process.env, withHostName(process.env, host))
  const keyStore = process.env.svc_server_https_keyStorePath
  if (keyStore !== undefined && !existsSync(keyStore)) {
    preventRestart()
    throw notFound(
      `There is no certificate for [${host}]. Increase SVC_REPLICAS in .env (for historicals) or the replicas in SVC_SERVICES in docker-compose.yml (for other services), and run docker compose up again. To number the replicas from 1 again, run docker compose down first.`,
    )
  }
  const settings = tryLoading(role)
  if (settings) writeFileSync(ownAddressFile, JSON.stringify(ownAddress(settings)))
  else preventRestart()
  // The arguments of the container are not those of the server, which reads its properties from the environment.
  process.argv.splice(2)
  await import(`../../services/${role}/src/main.ts`)
}

/**
 * Exits with status 0 in any case, so that Docker does not restart the container: the problem persists until the
 * configuration is changed.
 */
function preventRestart(): void {
  process.once('exit', () => (process.exitCode = 0))
}

/** The configuration; undefined if it is invalid, which the server itself is about to report. */
function tryLoading(role: Role): Settings | undefined {
  try {
    return loadSettings(role, [], process.env)
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined
    throw error
  }
}

function ownAddress(settings: Settings): OwnAddress {
  const isTls = settings.get('svc.enableTlsPort')
  return {
    host: settings.get('svc.host'),
    port: settings.get(isTls ? 'svc.tlsPort' : 'svc.plaintextPort'),
    isTls,
    trustStore: settings.get('svc.client.https.trustStorePath'),
  }
}
