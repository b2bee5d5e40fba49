import { BlockList, isIP, isIPv6 } from 'node:net'
import { isGroupPattern } from '@svc/domain/access'
import { hasControlCharacter } from '@svc/domain/validation'
import type { Settings } from './settings.ts'

const named = 'svc.auth.authenticator.<name>.credentialsValidator'

/** What is wrong with how logins are configured, one sentence each; `at` tells where a property was set. */
export function loginProblems(settings: Settings, at: (property: string) => string): string[] {
  return [
    ...settings.get('svc.auth.authenticatorChain').flatMap((name) => directoryProblems(settings, name, at)),
    ...settings.get('svc.auth.authorizers').flatMap((name) => authorizerProblems(settings, name, at)),
    ...escalatorProblems(settings, at),
    ...settings
      .get('svc.auth.unsecuredPaths')
      .filter((path) => !isUnsecuredPath(path) || isOfAlias(settings, path))
      .map(
        (path) =>
          `${at('svc.auth.unsecuredPaths')}: [svc.auth.unsecuredPaths] has [${path}], which would match nothing; expected whole paths such as [/status/health] and those that end in [/*]; a path with the word svc is that of every alias too`,
      ),
    ...settings
      .get('svc.auth.internalClientAllowedNetworks')
      .filter((network) => !addNetwork(new BlockList(), network))
      .map(
        (network) =>
          `${at('svc.auth.internalClientAllowedNetworks')}: [svc.auth.internalClientAllowedNetworks] has [${network}]; expected addresses and networks such as [127.0.0.1], [10.0.0.0/8] or [fd00::/8]`,
      ),
    ...(settings.get('svc.auth.basic.ssl.validateHostnames')
      ? []
      : [
          `${at('svc.auth.basic.ssl.validateHostnames')}: [svc.auth.basic.ssl.validateHostnames] is [false], which has no effect here; the host of a directory is always checked; expected true`,
        ]),
  ]
}

/** Whether the internal user may come from an address. */
export function internalNetworks(settings: Settings): (address: string) => boolean {
  const networks = settings.get('svc.auth.internalClientAllowedNetworks')
  if (networks.length === 0) return () => true
  const list = new BlockList()
  for (const network of networks) addNetwork(list, network)
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Adds an address or network to a list; false where the text is none. */
function addNetwork(list: BlockList, network: string): boolean {
  const [address = '', bits, ...rest] = network.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  const most = version === 4 ? 32 : 128
  const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (!(prefix >= 0 && prefix <= most)) return false
  list.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
  return true
}

// A path without characters that could mean something else to whoever matches it.
const isUnsecuredPath = (path: string): boolean =>
  /^(\/[\w.~-]+)*\/?(\/\*)?$/.test(path) && path.startsWith('/')

const isOfAlias = (settings: Settings, path: string): boolean =>
  settings.get('svc.api.aliases').some((word) => new RegExp(`^/${word}(-ext)?(/|$)`).test(path))

function directoryProblems(settings: Settings, name: string, at: (property: string) => string): string[] {
  if (name === 'allowAll' || settings.getNamed(`${named}.type`, name) !== 'ldap') return []
  const prefix = `svc.auth.authenticator.${name}.credentialsValidator`
  const problems: string[] = []
  const tell = (property: string, text: string) =>
    problems.push(`${at(`${prefix}.${property}`)}: [${prefix}.${property}] ${text}`)
  const url = settings.getNamed(`${named}.url`, name)
  if (url === undefined || !isDirectoryUrl(url)) {
    tell('url', `is [${url ?? ''}]; expected ldap://host:port or ldaps://host:port`)
  } else if (url.startsWith('ldaps:') && settings.get('svc.auth.basic.ssl.trustStorePath') === undefined) {
    tell(
      'url',
      `is [${url}], but [svc.auth.basic.ssl.trustStorePath] is not set; it names the certificates to trust`,
    )
  }
  if (settings.getNamed(`${named}.baseDn`, name) === undefined)
    tell('baseDn', 'is not set; users are searched below it')
  for (const property of ['userSearch', 'groupSearch'] as const) {
    const filter = settings.getNamed(`${named}.${property}`, name)
    if (!/^\(.*%s.*\)$/s.test(filter))
      tell(property, `is [${filter}]; expected a filter in parentheses with %s in it`)
  }
  const bindUser = settings.getNamed(`${named}.bindUser`, name)
  // RFC 4513 5.1.2: a bind with a name and no password says that it succeeded, and is anonymous.
  if (bindUser !== undefined && !settings.getNamed(`${named}.bindPassword`, name)) {
    tell('bindPassword', `is not set, but [${prefix}.bindUser] is`)
  }
  const verifySeconds = settings.getNamed(`${named}.credentialVerifyDuration`, name)
  const mostSeconds = settings.getNamed(`${named}.credentialMaxDuration`, name)
  if (mostSeconds < verifySeconds) {
    tell(
      'credentialMaxDuration',
      `is [${mostSeconds}]; expected [${verifySeconds}] of [${prefix}.credentialVerifyDuration] or more`,
    )
  }
  return problems
}

function isDirectoryUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return (
    url !== undefined && /^ldaps?:$/.test(url.protocol) && url.hostname !== '' && /^\/?$/.test(url.pathname)
  )
}

function authorizerProblems(settings: Settings, name: string, at: (property: string) => string): string[] {
  if (name === 'allowAll') return []
  const prefix = `svc.auth.authorizer.${name}`
  const filters = settings.getNamed('svc.auth.authorizer.<name>.roleProvider.groupFilters', name)
  const mapped = settings.getNamed('svc.auth.authorizer.<name>.initialAdminGroupMapping', name)
  return [
    ...filters.map((pattern) => ['roleProvider.groupFilters', pattern] as const),
    ...(mapped === undefined ? [] : [['initialAdminGroupMapping', mapped] as const]),
  ]
    .filter(([, pattern]) => !isGroupPattern(pattern))
    .map(
      ([property, pattern]) =>
        `${at(`${prefix}.${property}`)}: [${prefix}.${property}] has [${pattern}]; expected [*], a distinguished name, [*,suffix] or [prefix,*]`,
    )
}

function escalatorProblems(settings: Settings, at: (property: string) => string): string[] {
  const password = 'svc.escalator.internalClientPassword'
  if (settings.get('svc.escalator.type') !== 'noop' && hasControlCharacter(settings.get(password) ?? ''))
    return [
      `${at(password)}: Invalid value for [${password}]: expected a password without control characters.`,
    ]
  const authorizer = settings.get('svc.escalator.authorizerName')
  const named = settings
    .get('svc.auth.authenticatorChain')
    .map((name) => settings.getNamed('svc.auth.authenticator.<name>.authorizerName', name))
    .filter((one) => one !== undefined)
  if (authorizer === undefined || settings.get('svc.escalator.type') === 'noop' || named.includes(authorizer))
    return []
  return [
    `${at('svc.escalator.authorizerName')}: [svc.escalator.authorizerName] is [${authorizer}]; the authenticator that knows the internal user decides, so it must be one of theirs, which are [${[...new Set(named)].join(', ')}]`,
  ]
}
