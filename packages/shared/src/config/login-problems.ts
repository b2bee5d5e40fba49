import { BlockList, isIP, isIPv6 } from 'node:net'
import { hasPlaceholder, isBalancedFilter, isGroupPattern } from '@svc/domain/access'
import { hasControlCharacter } from '@svc/domain/validation'
import { directoryAddress } from './directory-address.ts'
import type { Settings } from './settings.ts'

const named = 'svc.auth.authenticator.<name>.credentialsValidator'

/** Returns the problems of the login configuration; `at` returns where a property was set. */
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
          `${at('svc.auth.unsecuredPaths')}: [svc.auth.unsecuredPaths] contains [${path}], which matches no path; expected a path such as [/status/health] or one that ends in [/*]. Start the path with [/svc] instead of an alias: such a path also matches every alias`,
      ),
    ...settings
      .get('svc.auth.internalClientAllowedNetworks')
      .filter((network) => !addNetwork(new BlockList(), network))
      .map(
        (network) =>
          `${at('svc.auth.internalClientAllowedNetworks')}: [svc.auth.internalClientAllowedNetworks] contains [${network}]; expected an address or network such as [127.0.0.1], [10.0.0.0/8], or [fd00::/8]`,
      ),
    ...(settings.get('svc.auth.basic.ssl.validateHostnames')
      ? []
      : [
          `${at('svc.auth.basic.ssl.validateHostnames')}: [svc.auth.basic.ssl.validateHostnames] is [false]; expected [true], because svc always validates the host name of a directory`,
        ]),
  ]
}

/** Returns a function that checks whether the internal user may connect from an address. */
export function internalNetworks(settings: Settings): (address: string) => boolean {
  const networks = settings.get('svc.auth.internalClientAllowedNetworks')
  if (networks.length === 0) return () => true
  const list = new BlockList()
  for (const network of networks) addNetwork(list, network)
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')
}

/** Adds an address or network to a list. Returns false if it is not valid. */
function addNetwork(list: BlockList, network: string): boolean {
  const [address = '', bits, ...rest] = network.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  const max = version === 4 ? 32 : 128
  const prefix = bits === undefined ? max : /^\d{1,3}$/.test(bits) ? Number(bits) : Number.NaN
  if (!(prefix >= 0 && prefix <= max)) return false
  list.addSubnet(address, prefix, version === 4 ? 'ipv4' : 'ipv6')
  return true
}

// Only characters that have no special meaning for whatever matches the path.
const isUnsecuredPath = (path: string): boolean =>
  /^(\/[\w.~-]+)*\/?(\/\*)?$/.test(path) && path.startsWith('/')

const isOfAlias = (settings: Settings, path: string): boolean =>
  settings.get('svc.api.aliases').some((word) => new RegExp(`^/${word}(-ext)?(/|$)`).test(path))

function directoryProblems(settings: Settings, name: string, at: (property: string) => string): string[] {
  if (name === 'allowAll' || settings.getNamed(`${named}.type`, name) !== 'ldap') return []
  const prefix = `svc.auth.authenticator.${name}.credentialsValidator`
  const problems: string[] = []
  const problem = (property: string, text: string) =>
    problems.push(`${at(`${prefix}.${property}`)}: [${prefix}.${property}] ${text}`)
  const url = settings.getNamed(`${named}.url`, name)
  const address = directoryAddress(url)
  if (url?.includes('@')) {
    // Not shown, because it contains a password, even if it is not a valid URL because of a character in the password.
    problem('url', 'contains credentials; remove them, and set [bindUser] and [bindPassword] instead')
  } else if (address === undefined || !['', '/'].includes(address.path)) {
    problem('url', `is [${url ?? ''}]; expected ldap://host:port or ldaps://host:port`)
  } else if (address.isTls && settings.get('svc.auth.basic.ssl.trustStorePath') === undefined) {
    problem(
      'url',
      `is [${url}], but [svc.auth.basic.ssl.trustStorePath] is not set; set it to the path of the trust store for LDAP directories`,
    )
  }
  if (settings.getNamed(`${named}.baseDn`, name) === undefined)
    problem('baseDn', 'is not set; set it to the base DN to search for users')
  for (const property of ['userSearch', 'groupSearch'] as const) {
    const filter = settings.getNamed(`${named}.${property}`, name)
    if (!/^\(.*\)$/s.test(filter) || !hasPlaceholder(filter) || !isBalancedFilter(filter))
      problem(property, `is [${filter}]; expected a filter in parentheses that contains %s`)
  }
  const bindUser = settings.getNamed(`${named}.bindUser`, name)
  // RFC 4513 5.1.2: a bind with a name but without a password reports success, but is anonymous.
  if (bindUser !== undefined && !settings.getNamed(`${named}.bindPassword`, name)) {
    problem('bindPassword', `is not set, but [${prefix}.bindUser] is set`)
  }
  const verifySeconds = settings.getNamed(`${named}.credentialVerifyDuration`, name)
  const maxSeconds = settings.getNamed(`${named}.credentialMaxDuration`, name)
  if (maxSeconds < verifySeconds) {
    problem(
      'credentialMaxDuration',
      `is [${maxSeconds}]; expected at least the value of [${prefix}.credentialVerifyDuration], which is [${verifySeconds}]`,
    )
  }
  return problems
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
        `${at(`${prefix}.${property}`)}: Invalid value [${pattern}] in [${prefix}.${property}]: expected [*], a distinguished name, [*,suffix], or [prefix,*]`,
    )
}

function escalatorProblems(settings: Settings, at: (property: string) => string): string[] {
  const password = 'svc.escalator.internalClientPassword'
  if (settings.get('svc.escalator.type') !== 'noop' && hasControlCharacter(settings.get(password) ?? ''))
    return [
      `${at(password)}: Invalid value for [${password}]: expected a password without control characters`,
    ]
  const authorizer = settings.get('svc.escalator.authorizerName')
  const named = settings
    .get('svc.auth.authenticatorChain')
    .map((name) => settings.getNamed('svc.auth.authenticator.<name>.authorizerName', name))
    .filter((one) => one !== undefined)
  if (authorizer === undefined || settings.get('svc.escalator.type') === 'noop' || named.includes(authorizer))
    return []
  return [
    `${at('svc.escalator.authorizerName')}: [svc.escalator.authorizerName] is [${authorizer}]; expected the authorizer of an authenticator in [svc.auth.authenticatorChain]: one of [${[...new Set(named)].join(', ')}]`,
  ]
}
