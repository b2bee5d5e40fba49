import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Settings } from '../config/index.ts'
import type { Listeners } from '../http/index.ts'
import { retry } from '../retry/index.ts'
import { testSettings } from './settings.ts'
import { freePort, type Scope } from './temporary.ts'

const stores = fileURLToPath(new URL('../../../../test/fixtures/stores/', import.meta.url))

/** The certificate authority of the key stores in the fixtures. */
export const storesAuthority = readFileSync(`${stores}authority.pem`)

/** Returns properties that open only the TLS port, with a key store of the fixtures. */
export const withTls = (store: string): Record<string, string> => ({
  'svc.enableTlsPort': 'true',
  'svc.enablePlaintextPort': 'false',
  'svc.server.https.keyStorePath': `${stores}${store}`,
  'svc.server.https.keyStorePassword': 'changeit',
})

/** Opens the ports with the current stores of the settings. */
export async function listenWithStores(settings: Settings, handler: RequestListener): Promise<Listeners> {
  // Loaded on first use, like the parts of servers in other helpers.
  const { fixedStores, loadTlsStores } = await import('../tls/index.ts')
  const { listen } = await import('../http/index.ts')
  const loaded = await loadTlsStores(settings, Date.now())
  if (loaded.kind === 'faulty') throw new Error(loaded.problems.join('\n'))
  return await listen(settings, handler, fixedStores(loaded.stores))
}

/** Opens free ports, the plaintext port by default, until the end of the test. */
export async function openPorts(
  scope: Scope,
  properties: Readonly<Record<string, string>>,
  handler: RequestListener,
): Promise<Listeners> {
  const open = async (): Promise<Listeners> => {
    const ports = {
      'svc.plaintextPort': String(await freePort()),
      'svc.tlsPort': String(await freePort()),
    }
    return await listenWithStores(testSettings('router', { ...ports, ...properties }), handler)
  }
  // The connection of another test may have got the port in the meantime.
  const listeners = await retry(open, { isTemporary: () => true, delayMs: 0, maxAttempts: 5 })
  scope.after(() => listeners.close(0))
  return listeners
}
