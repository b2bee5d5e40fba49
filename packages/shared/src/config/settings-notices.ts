import { isIP } from 'node:net'
import { allowsAnonymous, requiresLogin } from './authenticators.ts'
import type { ReadableValues } from './conditions.ts'
import { internalNetworks } from './login-problems.ts'
import { definitionOf } from './properties.ts'
import type { Settings } from './settings.ts'

/**
 * Returns the configuration warnings that a server logs at startup, such as properties without effect and unreachable
 * authenticators.
 */
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

/** An authenticator is unreachable if one before it accepts everyone or rejects unknown users. */
function chainNotices(settings: Settings): string[] {
  const chain = settings.get('svc.auth.authenticatorChain')
  for (const [index, name] of chain.entries()) {
    const later = chain.slice(index + 1)
    if (later.length === 0) return []
    if (allowsAnonymous(settings, name)) {
      return [
        `Authenticator [${name}] accepts everyone, so the authenticators after it are never used: [${later.join(', ')}]`,
      ]
    }
    if (settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', name)) continue
    return [
      `[svc.auth.authenticator.${name}.skipOnFailure] is [false], so authenticator [${name}] rejects users it does not know, and the authenticators after it are never used for logins: [${later.join(', ')}]`,
    ]
  }
  return []
}

/** Names the first condition of a configured property that is not met. */
const effectNotice =
  (settings: Settings) =>
  (property: string): string[] => {
    const { definition, name } = definitionOf(property) ?? { definition: undefined, name: '' }
    const missing = definition?.conditions.find((condition) => !condition.holds(valuesOf(settings), name))
    if (!missing) return []
    return [
      `[${property}] is set, but has no effect: it applies only if ${missing.text.replaceAll('<name>', () => name)}`,
    ]
  }

const needed = [
  ['svc-basic-security', 'basic authentication'],
  ['simple-client-sslcontext', 'TLS between servers'],
  ['svc-s3-extensions', 'S3'],
] as const

/** All extensions are built in, so the list of extensions is only compared with the rest of the configuration. */
function extensionNotices(settings: Settings): string[] {
  if (!settings.names.includes('svc.extensions.loadList')) return []
  const loaded = settings.get('svc.extensions.loadList')
  const uses: Readonly<Record<string, boolean>> = {
    'svc-basic-security': requiresLogin(settings),
    'simple-client-sslcontext': settings.get('svc.client.https.trustStorePath') !== undefined,
    'svc-s3-extensions': [settings.get('svc.storage.type'), settings.get('svc.indexer.logs.type')].includes(
      's3',
    ),
  }
  return [
    ...loaded
      .filter((extension) => !needed.some(([known]) => known === extension))
      .map(
        (extension) =>
          `[svc.extensions.loadList] contains the unknown extension [${extension}], which has no effect`,
      ),
    ...needed
      .filter(([extension]) => uses[extension] && !loaded.includes(extension))
      .map(
        ([extension, use]) =>
          `[svc.extensions.loadList] does not contain [${extension}], but ${use} is configured; the extension is built in and works anyway`,
      ),
    ...needed
      .filter(([extension]) => !uses[extension] && loaded.includes(extension))
      .map(
        ([extension, use]) =>
          `[svc.extensions.loadList] contains [${extension}], but ${use} is not configured; loading the extension does not configure it`,
      ),
  ]
}

/** Servers call each other from their own address, so it must be allowed for the internal user. */
function networkNotices(settings: Settings): string[] {
  const host = settings.get('svc.host')
  if (isIP(host) === 0 || internalNetworks(settings)(host)) return []
  return [
    `[svc.auth.internalClientAllowedNetworks] does not contain [${host}] from [svc.host], so other servers reject calls from this server`,
  ]
}
