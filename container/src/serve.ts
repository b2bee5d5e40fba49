import { existsSync, writeFileSync } from 'node:fs'
import { notFound } from '@svc/domain/failure'
import { ConfigurationError, loadSettings, type Role, type Settings } from '@svc/shared/config'
import { type OwnAddress, ownAddressFile } from './health.ts'
import { ownHostName, withHostName } from './host-name.ts'

/** Becomes the server of a role, under the name of its own container. */
export async function serve(role: Role): Promise<void> {
  const host = await ownHostName()
  Object.assign(process.env, withHostName(process.env, host))
  const keyStore = process.env.svc_server_https_keyStorePath
  if (keyStore !== undefined && !existsSync(keyStore)) {
    endForGood()
    throw notFound(
      `There is no certificate for [${host}]: raise the number of replicas that get one, for historicals SVC_REPLICAS in .env, for others SVC_SERVICES in docker-compose.yml, and run docker compose up again; down and up numbers the replicas anew`,
    )
  }
  const settings = tryLoading(role)
  if (settings) writeFileSync(ownAddressFile, JSON.stringify(ownAddress(settings)))
  else endForGood()
  // The arguments of a container are not those of a server, which has its properties from the environment here.
  process.argv.splice(2)
  await import(`../../services/${role}/src/main.ts`)
}

/**
 * Keeps the engine from starting the container again when it has ended: that is done after every exit status but this
 * one, and what is wrong stays so until someone changes what the container is told.
 */
function endForGood(): void {
  process.once('exit', () => (process.exitCode = 0))
}

/** The configuration; undefined where it is faulty, which the server itself is about to tell. */
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
