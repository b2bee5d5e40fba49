import { definitionOf, directoryAddress } from '@svc/shared/config'
import { type Configuration, hasOuterSpaces, listOf, type Property, type Server } from './configuration.ts'
import type { Examination } from './examination.ts'
import type { Finding } from './findings.ts'
import type { LocationMap } from './location-map.ts'
import { requiresBasicLogin, urlsIn } from './logins.ts'
import { isSecretName } from './secret-names.ts'
import { serversOfRoles } from './servers-of-roles.ts'

/** The security of a Druid configuration as settings of a cluster on this machine. */
export interface SvcSettings {
  /** `name=value` or `role.name=value`, as for `./svc up --set`. */
  readonly set: readonly string[]
  readonly profile: 'secure' | 'plain'
  /** What is different from the configuration, one sentence each. */
  readonly notices: readonly string[]
}

const isSecurity = (name: string): boolean =>
  /^druid\.(auth\.|escalator\.|server\.https\.|client\.https\.|enable(Plaintext|Tls)Port$|extensions\.loadList$)/.test(
    name,
  )

/** Properties of stores and client certificates for connections between servers. */
const isTlsStore = (name: string): boolean =>
  /^druid\.(server|client)\.https\.((key|trust)Store|keyManagerPassword|certAlias|crlPath|re\w+ClientCertificate)/.test(
    name,
  )

/** Findings that a cluster with the configured stores shows as well. */
const storeCodes: ReadonlySet<string> = new Set([
  'store-missing',
  'store-password-wrong',
  'key-password-wrong',
  'store-format-unknown',
  'stores-swapped',
  'key-missing',
  'alias-unknown',
  'key-mismatch',
  'trust-store-empty',
  'certificate-expired',
  'certificate-not-yet-valid',
  'certificate-untrusted',
  'chain-incomplete',
  'host-not-in-certificate',
])

const extensions: Readonly<Record<string, string>> = {
  'druid-basic-security': 'svc-basic-security',
  'simple-client-sslcontext': 'simple-client-sslcontext',
}

/** Druid ignores these values, and svc refuses them. */
const ignoredValues: Readonly<Record<string, string>> = {
  'druid.auth.basic.ssl.validateHostnames': 'false',
}

/** Returns whether a cluster uses the stores of a configuration, so that it shows their problems. */
export const usesStores = (findings: readonly Pick<Finding, 'code'>[]): boolean =>
  findings.some(({ code }) => storeCodes.has(code))

/** Returns the settings with which a cluster on this machine has the security of a Druid configuration. */
export function svcSettings({ configuration, locations, findings }: Examination): SvcSettings {
  const keepsStores = usesStores(findings)
  const servers = serversOfRoles(configuration)
  const written = new Map(
    Object.entries(servers).map(
      ([role, server]) => [role, settingsOf(server, locations, keepsStores)] as const,
    ),
  )
  const names = new Set([...written.values()].flatMap((settings) => [...settings.keys()]))
  const set = [...names].flatMap((name) => {
    const values = [...written].map(([role, settings]) => ({ role, value: settings.get(name) }))
    const isCommon = values.every(({ value }) => value === values[0]?.value)
    if (isCommon) return [`${name}=${values[0]?.value}`]
    return values.flatMap(({ role, value }) => (value === undefined ? [] : [`${role}.${name}=${value}`]))
  })
  return {
    set,
    profile: requiresBasicLogin(servers.coordinator) ? 'secure' : 'plain',
    notices: noticesOf(configuration, keepsStores),
  }
}

/** Returns the settings of one server by name. */
function settingsOf(
  server: Server,
  locations: LocationMap,
  keepsStores: boolean,
): ReadonlyMap<string, string> {
  const settings = new Map<string, string>()
  for (const property of server.properties.values()) {
    if (!isTransferred(property, keepsStores)) continue
    const value = settingOf(server, property, locations)
    if (value !== undefined) settings.set(svcName(property.name), value)
  }
  return settings
}

const isDirectoryUrl = (name: string): boolean => /\.credentialsValidator\.url$/.test(name)

const isIgnored = ({ name, value }: Pick<Property, 'name' | 'value'>): boolean =>
  value !== undefined && ignoredValues[name] === value.trim()

const svcName = (name: string): string => name.replace(/^druid\./, 'svc.')

const isTransferred = ({ name, value }: Property, keepsStores: boolean): boolean =>
  isSecurity(name) &&
  definitionOf(svcName(name)) !== undefined &&
  (keepsStores || !isTlsStore(name)) &&
  !isIgnored({ name, value })

function settingOf(server: Server, property: Property, locations: LocationMap): string | undefined {
  const { name, value, secret } = property
  if (isSecretName(name)) return secret?.reveal()
  if (value === undefined) return undefined
  const text = value.trim()
  if (/Path$/.test(name)) return locations.fileOf(text)
  if (/StoreType$/.test(name) || /^(true|false)$/i.test(text)) return text.toLowerCase()
  if (isDirectoryUrl(name)) return mappedUrl(text, locations)
  if (name === 'druid.extensions.loadList')
    return JSON.stringify((listOf(server, name) ?? []).flatMap((extension) => extensions[extension] ?? []))
  if (name === 'druid.auth.unsecuredPaths')
    return JSON.stringify(
      (listOf(server, name) ?? []).map((path) => path.replace(/^\/druid(?=[/-])/, '/svc')),
    )
  return text
}

function mappedUrl(url: string, locations: LocationMap): string {
  // svc supports one URL for each directory.
  const address = directoryAddress(urlsIn(url)[0])
  if (!address) return url
  const { host, port } = locations.addressOf(address.host, address.port)
  return `${address.isTls ? 'ldaps' : 'ldap'}://${host}:${port}`
}

function noticesOf({ servers }: Configuration, keepsStores: boolean): string[] {
  const properties = servers.flatMap((server) => [...server.properties.values()])
  const unsupported = properties.filter(
    ({ name }) => isSecurity(name) && definitionOf(svcName(name)) === undefined,
  )
  const unknown = properties.filter(({ name, problem }) => isSecurity(name) && problem !== undefined)
  const ignored = properties.filter(isIgnored)
  const spaced = properties.filter(hasOuterSpaces)
  const several = properties.filter(
    ({ name, value }) => isDirectoryUrl(name) && value !== undefined && urlsIn(value).length > 1,
  )
  const list = (found: readonly Property[]) => [...new Set(found.map(({ name }) => name))].join(', ')
  const hasStores = properties.some(({ name }) => isTlsStore(name))
  return [
    ...(unsupported.length > 0
      ? [`svc does not support these properties and ignores them: [${list(unsupported)}]`]
      : []),
    ...(ignored.length > 0
      ? [`Druid ignores the values of these properties, and so does svc: [${list(ignored)}]`]
      : []),
    ...(several.length > 0 ? [`svc uses only the first URL of these properties: [${list(several)}]`] : []),
    ...(spaced.length > 0
      ? [
          `svc ignores the spaces around the values of these properties, but in Druid they are part of the values: [${list(spaced)}]`,
        ]
      : []),
    ...(unknown.length > 0
      ? [`The values of these properties are not available on this machine: [${list(unknown)}]`]
      : []),
    ...(hasStores && !keepsStores
      ? [
          'The key stores and trust stores are for other hosts, so this cluster uses its own certificates for 127.0.0.1 and does not require client certificates',
        ]
      : []),
  ]
}
