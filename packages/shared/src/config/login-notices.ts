import type { Settings } from './settings.ts'

/** What a server tells at start about how logins are configured: properties without effect, and members never asked. */
export function loginNotices(settings: Settings): string[] {
  return [
    ...chainNotices(settings),
    ...namedNotices(settings),
    ...extensionNotices(settings),
    ...otherNotices(settings),
  ]
}

const chainOf = (settings: Settings) => settings.get('svc.auth.authenticatorChain')

const isBasic = (settings: Settings, name: string): boolean =>
  name !== 'allowAll' && settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'basic'

const usesDirectory = (settings: Settings, name: string): boolean =>
  isBasic(settings, name) &&
  settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.type', name) === 'ldap'

/** A login goes on to the next member only where the one before says so. */
function chainNotices(settings: Settings): string[] {
  const chain = chainOf(settings)
  for (const [index, name] of chain.entries()) {
    const later = chain.slice(index + 1)
    if (later.length === 0) return []
    if (!isBasic(settings, name)) {
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

const directoryOnly = /\.credentialsValidator\.(?!type$)/

/** Properties that stand under the name of an authenticator or authorizer that does not use them. */
function namedNotices(settings: Settings): string[] {
  const chain = chainOf(settings)
  const authorizers = settings.get('svc.auth.authorizers')
  return settings.names.flatMap((property) => {
    const [, kind, name = ''] = /^svc\.auth\.(authenticator|authorizer)\.([^.]+)\./.exec(property) ?? []
    if (kind === 'authenticator') {
      if (!chain.includes(name))
        return [without(property, `[svc.auth.authenticatorChain] does not name [${name}]`)]
      const directory = usesDirectory(settings, name)
      if (directoryOnly.test(property) && !directory)
        return [without(property, `the users of [${name}] are not in a directory`)]
      if (/\.initial(Admin|InternalClient)Password$/.test(property) && directory) {
        return [without(property, `the users of [${name}] are in a directory, which keeps their passwords`)]
      }
    }
    if (kind === 'authorizer') {
      if (!authorizers.includes(name))
        return [without(property, `[svc.auth.authorizers] does not name [${name}]`)]
      const mapped = settings.getNamed('svc.auth.authorizer.<name>.roleProvider.type', name) === 'ldap'
      if (/\.(groupFilters|initialAdminGroupMapping)$/.test(property) && !mapped) {
        return [without(property, `[svc.auth.authorizer.${name}.roleProvider.type] is not [ldap]`)]
      }
    }
    return []
  })
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
    'svc-basic-security': chainOf(settings).some((name) => isBasic(settings, name)),
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
  ]
}

function otherNotices(settings: Settings): string[] {
  const chain = chainOf(settings)
  const anyBasic = chain.some((name) => isBasic(settings, name))
  const anyTlsDirectory = chain.some(
    (name) =>
      usesDirectory(settings, name) &&
      settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.url', name)?.startsWith('ldaps:'),
  )
  return settings.names.flatMap((property) => {
    if (property.startsWith('svc.auth.basic.ssl.') && !anyTlsDirectory)
      return [without(property, 'no authenticator has an address that begins with ldaps')]
    if (/^svc\.escalator\.(?!type$)/.test(property) && settings.get('svc.escalator.type') === 'noop')
      return [without(property, '[svc.escalator.type] is [noop]')]
    if (
      /^svc\.auth\.(credentials|throttle)\.|^svc\.auth\.(internalClientAllowedNetworks|unsecuredPaths|allowUnauthenticatedHttpOptions)$/.test(
        property,
      ) &&
      !anyBasic
    )
      return [without(property, 'nobody has to log in')]
    return []
  })
}

const without = (property: string, why: string): string => `[${property}] is set, but has no effect: ${why}`
