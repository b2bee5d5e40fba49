import { isIP } from 'node:net'
import { asksForLogin, letsEveryoneIn } from './authenticators.ts'
import type { ReadableValues } from './conditions.ts'
import { internalNetworks } from './login-problems.ts'
import { definitionOf } from './properties.ts'
import type { Settings } from './settings.ts'

/** What a server tells at its start of how it is configured: properties without effect, and members never asked. */
export function settingsNotices(settings: Settings): string[] {
  return [
    ...chainNotices(settings),
    ...settings.names.flatMap(effectNotice(settings)),
    ...extensionNotices(settings),
    ...networkNotices(settings),
  ]
}

const valuesOf = (settings: Settings): ReadableValues => ({
  valueOf: (property, name) =>
    property.includes('<name>')
      ? settings.getNamed(property as Parameters<Settings['getNamed']>[0], name)
      : settings.get(property as Parameters<Settings['get']>[0]),
})

/** A login goes on to the next member only where the one before says so. */
function chainNotices(settings: Settings): string[] {
  const chain = settings.get('svc.auth.authenticatorChain')
  for (const [index, name] of chain.entries()) {
    const later = chain.slice(index + 1)
    if (later.length === 0) return []
    if (letsEveryoneIn(settings, name)) {
      return [
        `Authenticators [${later.join(', ')}] can never be asked: [${name}] before them lets everyone in`,
      ]
    }
    if (settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name)) continue
    return [
      `Authenticators [${later.join(', ')}] can never be asked about a login: [svc.auth.authenticator.${name}.skipOnFailure] is [false], so that [${name}] refuses whom it does not know`,
    ]
  }
  return []
}

/** Of a property that was set, the first of its conditions that does not hold. */
const effectNotice =
  (settings: Settings) =>
  (property: string): string[] => {
    const { definition, name } = definitionOf(property) ?? { definition: undefined, name: '' }
    const missing = definition?.conditions.find((condition) => !condition.holds(valuesOf(settings), name))
    if (!missing) return []
    return [
      `[${property}] is set, but has no effect: it has one only where ${missing.text.replaceAll('<name>', () => name)}`,
    ]
  }

const needed = [
  ['svc-basic-security', 'logins'],
  ['simple-client-sslcontext', 'TLS between servers'],
] as const

/** The extensions are all built in: a list that is written down is compared with what is configured. */
function extensionNotices(settings: Settings): string[] {
  if (!settings.names.includes('svc.extensions.loadList')) return []
  const loaded = settings.get('svc.extensions.loadList')
  const uses: Readonly<Record<string, boolean>> = {
    'svc-basic-security': asksForLogin(settings),
    'simple-client-sslcontext': settings.get('svc.client.https.trustStorePath') !== undefined,
  }
  return [
    ...loaded
      .filter((extension) => !needed.some(([known]) => known === extension))
      .map(
        (extension) =>
          `[svc.extensions.loadList] names [${extension}], which is not an extension of this server and has no effect`,
      ),
    ...needed
      .filter(([extension]) => uses[extension] && !loaded.includes(extension))
      .map(
        ([extension, use]) =>
          `[svc.extensions.loadList] does not name [${extension}]; ${use} are built in and used all the same`,
      ),
    ...needed
      .filter(([extension]) => !uses[extension] && loaded.includes(extension))
      .map(
        ([extension, use]) =>
          `[svc.extensions.loadList] names [${extension}], but ${use} are not configured, and loading it configures nothing`,
      ),
  ]
}

/** The servers call each other from their own addresses, where these are known by the configuration. */
function networkNotices(settings: Settings): string[] {
  const host = settings.get('svc.host')
  if (isIP(host) === 0 || internalNetworks(settings)(host)) return []
  return [
    `[svc.auth.internalClientAllowedNetworks] leaves out [${host}] of [svc.host]: the calls of this server are refused where they come from that address`,
  ]
}
