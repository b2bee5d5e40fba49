import { existsSync, readdirSync } from 'node:fs'
import { ConfigurationError, loadSettings, type Settings } from '@svc/shared/config'
import type { HomeLayout } from '../home/index.ts'
import { revocationFile } from '../pki/index.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/**
 * Why servers still accept a certificate that the home has revoked: one sentence for each missing property; empty if
 * all servers use the revocation list of the home.
 */
export function unreadRevocations(home: HomeLayout): string[] {
  const list = revocationFile(home.pki)
  const servers = instancesOf(home).map((instance) => ({ instance, settings: settingsOf(home, instance) }))
  const lacking = (
    property: 'svc.client.https.crlPath' | 'svc.server.https.crlPath',
    applies: (settings: Settings) => boolean,
  ) => servers.filter(({ settings }) => applies(settings) && settings.get(property) !== list)
  const sentence = (who: typeof servers, what: string, property: string) =>
    who.length === 0
      ? []
      : [
          `${what} [${who.map(({ instance }) => instance).join(', ')}] do not check this revocation list. Start the cluster with ./svc up --set ${property}=${list}`,
        ]
  return [
    ...sentence(
      lacking('svc.client.https.crlPath', () => true),
      'Outgoing calls from',
      'svc.client.https.crlPath',
    ),
    ...sentence(
      lacking(
        'svc.server.https.crlPath',
        (settings) =>
          settings.get('svc.enableTlsPort') &&
          (settings.get('svc.server.https.requireClientCertificate') ||
            settings.get('svc.server.https.requestClientCertificate')),
      ),
      'TLS ports of',
      'svc.server.https.crlPath',
    ),
  ]
}

function instancesOf(home: HomeLayout): string[] {
  if (!existsSync(home.conf)) return []
  return readdirSync(home.conf, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort()
}

/** The configuration of a server, as far as it is readable: the server itself reports what is wrong with it. */
function settingsOf(home: HomeLayout, instance: string): Settings {
  try {
    return loadSettings(
      'historical',
      [commonPropertiesFile(home), runtimePropertiesFile(home, instance)],
      process.env,
    )
  } catch (error) {
    if (error instanceof ConfigurationError && error.readable) return error.readable.settings
    throw error
  }
}
