import { isBalancedFilter, parseDistinguishedName } from '@svc/domain/access'
import { flagOf, placeOf } from '../configuration.ts'
import type { Check } from '../findings.ts'
import { usesLdaps } from '../stores.ts'
import { javaTrustStoreNote } from './java-trust-store.ts'
import { nobodyLogsIn, ofDirectory } from './ldap-check.ts'

/** Checks of the properties of LDAP directories. */
export const directoryChecks: readonly Check[] = [
  ofDirectory('directory-url-invalid', 'error', ({ hit, address, property }, server) => {
    const { problem } = server.properties.get(property('url')) ?? {}
    if (address !== undefined || problem !== undefined) return []
    return [
      hit('url', {
        problem: server.properties.has(property('url'))
          ? `[${property('url')}] is not an LDAP URL without credentials, such as ldaps://ldap.example.com:636`
          : `[${property('url')}] is not set`,
        effect: nobodyLogsIn,
        fix: 'Use ldaps://host:port or ldap://host:port.',
      }),
    ]
  }),
  ofDirectory('directory-plaintext', 'warning', ({ hit, address, name }) =>
    address === undefined || address.isTls || isLoopback(address.host)
      ? []
      : [
          hit('url', {
            problem: `The connection to the directory [${name}] at [${address.host}] is not encrypted`,
            effect:
              'Anyone on the network between the servers and the directory can read the password of every user who logs in.',
            fix: 'Use ldaps://, and set [druid.auth.basic.ssl.trustStorePath].',
          }),
        ],
  ),
  ofDirectory('directory-port-swapped', 'warning', ({ hit, address }) =>
    (address?.isTls && address.port === 389) || (address?.isTls === false && address.port === 636)
      ? [
          hit('url', {
            problem: address.isTls
              ? 'The URL starts with ldaps://, but port 389 is for LDAP without TLS'
              : 'The URL starts with ldap://, but port 636 is the LDAPS port',
            effect: nobodyLogsIn,
            fix: address.isTls ? 'Use port 636.' : 'Use ldaps:// instead.',
          }),
        ]
      : [],
  ),
  ofDirectory('directory-base-invalid', 'error', ({ hit, property, text }, server) => {
    const baseDn = text('baseDn')
    if (server.properties.get(property('baseDn'))?.problem) return []
    if (baseDn !== undefined && parseDistinguishedName(baseDn) !== undefined) return []
    return [
      hit('baseDn', {
        problem:
          baseDn === undefined
            ? `[${property('baseDn')}] is not set`
            : `[${property('baseDn')}] is [${baseDn}], which is not a distinguished name`,
        effect: nobodyLogsIn,
        fix: 'Use the distinguished name of the entry that contains the users, such as ou=users,dc=example,dc=com.',
      }),
    ]
  }),
  ofDirectory('directory-filter-invalid', 'error', ({ hit, property, text }, _server, { facts }) => {
    const filter = text('userSearch')
    const problem =
      filter === undefined
        ? undefined
        : filter.includes('%s')
          ? isBalancedFilter(filter)
            ? facts.filterProblem(filter)
            : 'its parentheses are not balanced'
          : 'it does not contain %s, the placeholder for the user name'
    if (filter === undefined || problem === undefined) return []
    return [
      hit('userSearch', {
        problem: `[${property('userSearch')}] is [${filter}]: ${problem}`,
        effect: nobodyLogsIn,
        fix: 'Use a filter in parentheses, such as (&(uid=%s)(objectClass=inetOrgPerson)).',
      }),
    ]
  }),
  ofDirectory('directory-password-missing', 'error', ({ hit, property, text }, server) =>
    text('bindUser') === undefined || server.properties.has(property('bindPassword'))
      ? []
      : [
          hit('bindUser', {
            problem: `[${property('bindUser')}] is set, but [${property('bindPassword')}] is not`,
            effect:
              'Directories treat a bind without a password as anonymous, and most of them do not let anonymous users search.',
            fix: `Set [${property('bindPassword')}].`,
          }),
        ],
  ),
  ofDirectory('directory-trust-missing', 'error', ({ hit, address }, server, input) =>
    !address?.isTls || server.properties.has('druid.auth.basic.ssl.trustStorePath')
      ? []
      : [
          hit('url', {
            problem: 'The URL starts with ldaps://, but [druid.auth.basic.ssl.trustStorePath] is not set',
            effect: `${nobodyLogsIn}${javaTrustStoreNote(server, input) || " Druid does not use Java's trust store for directories."}`,
            fix: "Set [druid.auth.basic.ssl.trustStorePath] to a store that contains the directory's CA certificate.",
          }),
        ],
  ),
  {
    code: 'directory-host-validated',
    severity: 'info',
    find: (server) =>
      usesLdaps(server) && !flagOf(server, 'druid.auth.basic.ssl.validateHostnames', true)
        ? [
            {
              at: placeOf(server, 'druid.auth.basic.ssl.validateHostnames'),
              problem: '[druid.auth.basic.ssl.validateHostnames] is [false], but the property has no effect',
              effect: 'Java still rejects a certificate that does not match the host name.',
              fix: "In the URL, use a host name from the directory's certificate.",
            },
          ]
        : [],
  },
]

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || host.startsWith('127.')
