import { isIP } from 'node:net'
import { checkServerIdentity } from 'node:tls'
import { fillFilter } from '@svc/domain/access'
import { describeError } from '@svc/domain/failure'
import { minTlsVersion } from '../tls/index.ts'
import { ldapErrorText } from './ldap-error-text.ts'

/** A directory to try with the bind user and searches of an authenticator. */
export interface LdapProbe {
  /** As in a URL: an IPv6 address is in brackets. */
  readonly host: string
  readonly port: number
  /** Undefined without TLS. */
  readonly tls: { readonly authorities: readonly string[]; readonly servername: string } | undefined
  /** Undefined for an anonymous search. */
  readonly bindUser: string | undefined
  readonly bindPassword: string
  readonly baseDn: string
  readonly userSearch: string
  /** Names of users to look for. */
  readonly users: readonly string[]
  readonly timeoutMs: number
}

/** The result of a probe: how far it came. */
export type LdapProbeResult =
  | { readonly kind: 'unreachable' | 'untrusted' | 'bindRefused' | 'searchRefused'; readonly error: string }
  | { readonly kind: 'baseMissing' }
  | {
      readonly kind: 'searched'
      /** Whether the search with any name finds an entry. */
      readonly findsAnyone: boolean
      /** Which of the users the search finds. */
      readonly found: readonly string[]
    }

/** Returns why a search filter, in which placeholders are the name of a user, is not valid; undefined if it is valid. */
export async function ldapFilterProblem(userSearch: string): Promise<string | undefined> {
  const { FilterParser } = await import('ldapts')
  try {
    FilterParser.parseString(fillFilter(userSearch, 'x'))
    return undefined
  } catch (error) {
    return describeError(error)
  }
}

/** Binds and searches as an authenticator does. Only reads, and never throws because of the directory. */
export async function probeLdap(probe: LdapProbe): Promise<LdapProbeResult> {
  const ldap = await import('ldapts')
  const { host, port, tls, timeoutMs } = probe
  const client = new ldap.Client({
    url: `${tls ? 'ldaps' : 'ldap'}://${host}:${port}`,
    connectTimeout: timeoutMs,
    timeout: timeoutMs,
    strictDN: false,
    ...(tls
      ? {
          tlsOptions: {
            ca: [...tls.authorities],
            minVersion: minTlsVersion,
            // TLS does not allow addresses as server names. The certificate must be for the address all the same.
            servername: isIP(tls.servername) === 0 ? tls.servername : '',
            checkServerIdentity: (_host, certificate) => checkServerIdentity(tls.servername, certificate),
          },
        }
      : {}),
  })
  const refused = (kind: 'bindRefused' | 'searchRefused', error: unknown): LdapProbeResult => {
    const noAnswer = isAboutCertificate(error) ? 'untrusted' : 'unreachable'
    return { kind: error instanceof ldap.ResultCodeError ? kind : noAnswer, error: ldapErrorText(error) }
  }
  const search = async (value: string): Promise<boolean> => {
    const filter = fillFilter(probe.userSearch, value)
    const { searchEntries } = await client.search(probe.baseDn, {
      scope: 'sub',
      filter,
      attributes: ['1.1'],
      sizeLimit: 1,
    })
    return searchEntries.length > 0
  }
  try {
    try {
      if (probe.bindUser !== undefined) await client.bind(probe.bindUser, probe.bindPassword)
    } catch (error) {
      return refused('bindRefused', error)
    }
    try {
      const findsAnyone = await search('*')
      const found: string[] = []
      for (const user of probe.users) if (await search(ldap.escapeFilter`${user}`)) found.push(user)
      return { kind: 'searched', findsAnyone, found }
    } catch (error) {
      if (error instanceof ldap.NoSuchObjectError) return { kind: 'baseMissing' }
      return refused('searchRefused', error)
    }
  } finally {
    await client.unbind().catch(() => undefined)
  }
}

/** Node.js reports certificates of an unknown authority, or for another host, with these codes. */
const isAboutCertificate = (error: unknown): boolean =>
  /CERT|SELF_SIGNED|ISSUER|ALTNAME/.test(String((error as NodeJS.ErrnoException).code))
