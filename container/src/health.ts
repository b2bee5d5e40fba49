import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import { json } from 'node:stream/consumers'
import { unavailable } from '@svc/domain/failure'
import { loadSettings, type Role } from '@svc/shared/config'
import { ownHostName, withHostName } from './host-name.ts'

const TIMEOUT_MS = 4000

/** Asks this container's server whether it serves, as others reach it; throws a Failure when it does not. */
export async function checkHealth(role: Role): Promise<void> {
  const host = await ownHostName()
  const settings = loadSettings(role, [], withHostName(process.env, host))
  const common = { host: '127.0.0.1', path: '/status/health', timeout: TIMEOUT_MS }
  const trustStore = settings.get('svc.client.https.trustStorePath')
  const request = settings.get('svc.enableTlsPort')
    ? https.get({
        ...common,
        port: settings.get('svc.tlsPort'),
        // The certificate has to be one for the name that others use.
        servername: host,
        ...(trustStore === undefined ? {} : { ca: readFileSync(trustStore) }),
      })
    : http.get({ ...common, port: settings.get('svc.plaintextPort') })
  request.once('timeout', () => request.destroy(unavailable(`No answer within [${TIMEOUT_MS}] ms`)))
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  const body = await json(answer)
  if (answer.statusCode !== 200 || body !== true) throw unavailable(JSON.stringify(body))
}
