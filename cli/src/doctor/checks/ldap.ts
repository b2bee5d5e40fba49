import {
  filterFormatProblem,
  hasPlaceholder,
  isBalancedFilter,
  parseDistinguishedName,
} from '@svc/domain/access'
import { flagOf, placeOf, type Server, secretOf } from '../configuration.ts'
import type { Check, CheckInput, Hit } from '../findings.ts'
import { chainOf, directoryPropertiesOf } from '../logins.ts'
import { usesLdaps } from '../stores.ts'
import { fillsEveryPlaceholder, refusesUnlikeDruid, sameEffect } from '../up-effects.ts'
import { javaTrustStoreNote } from './java-trust-store.ts'
import { type Directory, nobodyLogsIn, ofDirectory, usersOf } from './ldap-check.ts'

/** The effect of properties without which Druid fails when it searches for a user. */
const loginsFail = 'Every login that reaches the directory fails with status 500.'

/** Checks of the properties of LDAP directories. */
export const directoryChecks: readonly Check[] = [
  {
    code: 'directory-not-used',
    severity: 'error',
    find: (server) => unusedDirectories(server, (type) => type !== 'metadata'),
  },
  {
    code: 'directory-properties-unused',
    severity: 'warning',
    find: (server) => unusedDirectories(server, (type) => type === 'metadata'),
  },
  ofDirectory('directory-url-invalid', 'error', ({ hit, addresses, property }, server) => {
    const { problem } = server.properties.get(property('url')) ?? {}
    if (addresses.length > 0 || problem !== undefined) return []
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
  ofDirectory('directory-plaintext', 'warning', ({ hit, addresses, name }) => {
    const address = addresses.find(({ isTls, host }) => !isTls && !isLoopback(host))
    return address === undefined
      ? []
      : [
          hit('url', {
            problem: `The connection to the directory [${name}] at [${address.host}] is not encrypted`,
            effect:
              'Anyone on the network between the servers and the directory can read the password of every user who logs in.',
            fix: 'Use ldaps://, and set [druid.auth.basic.ssl.trustStorePath].',
          }),
        ]
  }),
  ofDirectory('directory-port-swapped', 'warning', ({ hit, addresses }) => {
    const address = addresses.find(({ isTls, port }) => port === (isTls ? 389 : 636))
    return address !== undefined
      ? [
          hit('url', {
            problem: address.isTls
              ? 'The URL starts with ldaps://, but port 389 is for LDAP without TLS'
              : 'The URL starts with ldap://, but port 636 is the LDAPS port',
            effect: nobodyLogsIn,
            fix: address.isTls ? 'Use port 636.' : 'Use ldaps:// instead.',
          }),
        ]
      : []
  }),
  ofDirectory('directory-base-invalid', 'error', (directory, server) => {
    const { hit, property, text } = directory
    const baseDn = text('baseDn')
    if (server.properties.get(property('baseDn'))?.problem) return []
    if (baseDn !== undefined && parseDistinguishedName(baseDn) !== undefined) return []
    return [
      hit('baseDn', {
        problem:
          baseDn === undefined
            ? `[${property('baseDn')}] is not set`
            : `[${property('baseDn')}] is [${baseDn}], which is not a distinguished name`,
        effect: baseDn === undefined ? loginsFail : nobodyLogsIn,
        fix: 'Use the distinguished name of the entry that contains the users, such as ou=users,dc=example,dc=com.',
        ...(baseDn === undefined ? { up: refusesUnlikeDruid, locksOut: usersOf([directory]) } : {}),
      }),
    ]
  }),
  ofDirectory('directory-filter-missing', 'error', (directory, server) =>
    server.properties.has(directory.property('userSearch'))
      ? []
      : [
          directory.hit('userSearch', {
            problem: `[${directory.property('userSearch')}] is not set`,
            effect: loginsFail,
            fix: 'Set the property to a filter with %s in place of the user name, such as (uid=%s).',
            locksOut: usersOf([directory]),
          }),
        ],
  ),
  ofDirectory('directory-filter-invalid', 'error', invalidFilter),
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
  ofDirectory('directory-bind-swapped', 'error', ({ hit, property, text }, server) => {
    const user = text('bindUser')
    const password = secretOf(server, property('bindPassword'))?.reveal()
    if (user === undefined || password === undefined) return []
    if (!isEntryName(password) || isBindName(user)) return []
    return [
      hit('bindUser', {
        problem: `[${property('bindUser')}] is not a distinguished name, but [${property('bindPassword')}] is one: they are probably swapped`,
        effect: nobodyLogsIn,
        fix: 'Swap the two values.',
      }),
    ]
  }),
  ofDirectory('directory-trust-missing', 'error', ({ hit, addresses }, server, input) =>
    !addresses.some(({ isTls }) => isTls) || server.properties.has('druid.auth.basic.ssl.trustStorePath')
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

function invalidFilter(directory: Directory, _server: Server, { facts }: CheckInput): Hit[] {
  const { hit, property, text } = directory
  const filter = text('userSearch')
  if (filter === undefined) return []
  const problem = !hasPlaceholder(filter)
    ? 'it does not contain %s, the placeholder for the user name'
    : isBalancedFilter(filter)
      ? facts.filterProblem(filter)
      : 'its parentheses are not balanced'
  const formatProblem = filterFormatProblem(filter)
  if (problem === undefined && formatProblem === undefined) return []
  return [
    hit('userSearch', {
      problem: `[${property('userSearch')}] is [${filter}]: ${problem ?? formatProblem}`,
      effect: formatProblem === undefined ? nobodyLogsIn : loginsFail,
      fix:
        problem === undefined
          ? 'Use %1$s for each user name and %% for each percent sign, such as (|(uid=%1$s)(mail=%1$s)).'
          : 'Use a filter in parentheses, such as (&(uid=%s)(objectClass=inetOrgPerson)).',
      locksOut: usersOf([directory]),
      ...(problem === undefined ? { up: fillsEveryPlaceholder } : {}),
    }),
  ]
}

/** Without a valid type, Druid uses the metadata store, and ignores the properties of the directory. */
function unusedDirectories(server: Server, isReported: (type: string | undefined) => boolean): Hit[] {
  return chainOf(server)
    .filter(({ users }) => users === 'stored')
    .flatMap((authenticator): Hit[] => {
      const type = `${authenticator.prefix}.credentialsValidator.type`
      const written = server.properties.get(type)
      const ignored = directoryPropertiesOf(server, authenticator)
      const [first] = ignored
      if (first === undefined || written?.problem !== undefined || !isReported(written?.value)) return []
      const is =
        written === undefined
          ? 'is not set'
          : `is [${written.value}]${written.value === 'metadata' ? '' : ', which is not a valid type'}`
      return [
        {
          at: placeOf(server, written === undefined ? first : type),
          problem: `[${type}] ${is}, so Druid does not use the properties of the directory: [${ignored.join(', ')}]`,
          effect: `Druid looks for the users of [${authenticator.name}] in the metadata store, so no directory user can log in.`,
          fix: `Set [${type}] to ldap, or remove the properties of the directory.`,
          up: written === undefined || written.value === 'metadata' ? sameEffect : refusesUnlikeDruid,
        },
      ]
    })
}

const commonAttribute = /^\s*(cn|uid|ou|dc|o)\s*=/i

/** Returns whether a text has several parts, such as `cn=search,dc=example,dc=com`. A password may contain an equals sign. */
const isEntryName = (text: string): boolean =>
  commonAttribute.test(text) && (parseDistinguishedName(text)?.length ?? 0) > 1

/** Returns whether a text can be the name of a bind user. Active Directory also accepts `user@domain` and `DOMAIN\user`. */
const isBindName = (text: string): boolean =>
  commonAttribute.test(text) ||
  (parseDistinguishedName(text)?.length ?? 0) > 1 ||
  /^\s*([\w.-]+@[\w-]+(\.[\w-]+)+|[\w.-]+\\[\w.-]+)\s*$/.test(text)

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || host.startsWith('127.')
