import type { SecureContextOptions } from 'node:tls'
import { fillFilter } from '@svc/domain/access'
import { describeError } from '@svc/domain/failure'
import type { Settings } from '../config/index.ts'
import { minTlsVersionOf, readTrustStore } from '../tls/index.ts'

/** The prefix of the properties of a directory. */
export const directoryProperties = 'svc.auth.authenticator.<name>.credentialsValidator'

/** The settings of one directory. */
export interface LdapSettings {
  readonly url: string
  readonly baseDn: string
  /** The user who searches; undefined to search anonymously. */
  readonly bindUser: string | undefined
  readonly bindPassword: string
  readonly userAttribute: string
  /** Where to search for groups; undefined to use only those in the entry of the user. */
  readonly groupBaseDn: string | undefined
  readonly connectTimeoutMs: number
  readonly readTimeoutMs: number
  /** Undefined without TLS. */
  readonly tlsOptions: (SecureContextOptions & { readonly rejectUnauthorized: boolean }) | undefined
  userFilter(user: string): string
  groupFilter(dn: string): string
}

/** Reads the settings of the directory of an authenticator. Throws if its trust store or a filter is invalid. */
export async function readLdapSettings(
  ldap: typeof import('ldapts'),
  settings: Settings,
  name: string,
): Promise<LdapSettings> {
  const text = (property: 'url' | 'baseDn') =>
    settings.getNamed(`${directoryProperties}.${property}`, name) as string
  const filterOf = (property: 'userSearch' | 'groupSearch') => {
    const template = settings.getNamed(`${directoryProperties}.${property}`, name)
    const fill = (value: string) => fillFilter(template, ldap.escapeFilter`${value}`)
    try {
      ldap.FilterParser.parseString(fill('x'))
    } catch (error) {
      throw new Error(
        `[${directoryProperties.replace('<name>', name)}.${property}] is not a valid LDAP filter: ${describeError(error)}`,
      )
    }
    return fill
  }
  const url = text('url')
  return {
    url,
    baseDn: text('baseDn'),
    bindUser: settings.getNamed(`${directoryProperties}.bindUser`, name),
    bindPassword: settings.getNamed(`${directoryProperties}.bindPassword`, name) ?? '',
    userAttribute: settings.getNamed(`${directoryProperties}.userAttribute`, name),
    groupBaseDn: settings.getNamed(`${directoryProperties}.groupBaseDn`, name),
    connectTimeoutMs: settings.getNamed(`${directoryProperties}.connectTimeout`, name),
    readTimeoutMs: settings.getNamed(`${directoryProperties}.readTimeout`, name),
    userFilter: filterOf('userSearch'),
    groupFilter: filterOf('groupSearch'),
    tlsOptions: url.startsWith('ldaps:') ? await directoryTls(settings) : undefined,
  }
}

/** Returns the TLS options for directories. They have their own trust store, and always validate the host name. */
async function directoryTls(settings: Settings) {
  const ca = await readTrustStore({
    path: settings.get('svc.auth.basic.ssl.trustStorePath') as string,
    type: settings.get('svc.auth.basic.ssl.trustStoreType'),
    password: settings.get('svc.auth.basic.ssl.trustStorePassword'),
    property: 'svc.auth.basic.ssl.trustStorePath',
  })
  return {
    ca: [...ca],
    minVersion: minTlsVersionOf(settings.get('svc.auth.basic.ssl.protocol')),
    rejectUnauthorized: true,
  }
}
