import type { LdapProbeResult } from '@svc/shared/security'
import { type Server, textOf } from '../configuration.ts'
import type { Check, Hit } from '../findings.ts'
import { chainOf } from '../logins.ts'
import { type Directory, nobodyLogsIn, ofDirectory } from './ldap-check.ts'

/** What is wrong if a probe ends in a certain way: the property to blame, the problem, and how to fix it. */
interface FailedProbe {
  readonly code: string
  readonly end: 'url' | 'bindUser' | 'baseDn'
  problem(directory: Directory): string
  readonly fix: string
}

const failures: Readonly<Record<Exclude<LdapProbeResult['kind'], 'searched'>, FailedProbe>> = {
  unreachable: {
    code: 'directory-unreachable',
    end: 'url',
    problem: ({ addresses }) =>
      `The directory at [${addresses.map(({ host, port }) => `${host}:${port}`).join(', ')}] cannot be reached from this machine`,
    fix: 'Check the host, the port, and firewalls. If this machine reaches the directory at another address, add --map. To skip the connection, add --offline.',
  },
  untrusted: {
    code: 'directory-untrusted',
    end: 'url',
    problem: () => "The directory's certificate is not trusted, or does not match the host name",
    fix: "Import the directory's CA certificate into [druid.auth.basic.ssl.trustStorePath]. In the URL, use a host name from the directory's certificate.",
  },
  bindRefused: {
    code: 'directory-bind-refused',
    end: 'bindUser',
    problem: ({ text }) => `The directory rejects the bind as [${text('bindUser')}]`,
    fix: 'Check the name and password of the bind user. The name must be the complete distinguished name, as the directory stores it.',
  },
  baseMissing: {
    code: 'directory-base-unknown',
    end: 'baseDn',
    problem: ({ text }) => `The directory has no entry [${text('baseDn')}]`,
    fix: 'Use the distinguished name of an existing entry that contains the users.',
  },
  searchRefused: {
    code: 'directory-search-refused',
    end: 'baseDn',
    problem: ({ text }) => `The directory does not allow the bind user to search under [${text('baseDn')}]`,
    fix: 'Allow the bind user to search. If no bind user is set, set one.',
  },
}

/** Checks of what a bind and search have shown. */
export const directoryProbeChecks: readonly Check[] = [
  ...Object.entries(failures).map(([kind, { code, end, problem, fix }]) =>
    ofDirectory(code, 'error', (directory) => {
      const { result, hit } = directory
      if (result?.kind !== kind) return []
      const reason = 'error' in result ? ` (${result.error})` : ''
      return [hit(end, { problem: `${problem(directory)}${reason}`, effect: nobodyLogsIn, fix })]
    }),
  ),
  ofDirectory('directory-finds-nobody', 'error', ({ hit, result, text, property }) =>
    result?.kind !== 'searched' || result.findsAnyone
      ? []
      : [
          hit('userSearch', {
            problem: `No entry below [${text('baseDn')}] matches [${property('userSearch')}] for any user name`,
            effect: nobodyLogsIn,
            fix: 'Check the attribute names and the object class in the filter, and the base DN.',
          }),
        ],
  ),
  ofDirectory('directory-lacks-internal-user', 'error', lacksInternalUser),
]

/** If only one directory can know the internal user, it must have it. */
function lacksInternalUser({ hit, result }: Directory, server: Server): Hit[] {
  const user = textOf(server, 'druid.escalator.internalClientUsername')
  const isAlone = chainOf(server).filter(({ type }) => type === 'basic').length === 1
  if (result?.kind !== 'searched' || !result.findsAnyone || user === undefined || !isAlone) return []
  if (result.found.includes(user)) return []
  return [
    hit('userSearch', {
      problem: `The directory has no user [${user}] (the value of [druid.escalator.internalClientUsername]), and no authenticator stores users`,
      effect:
        'Servers reject calls from other servers: segments are not loaded, tasks do not start, and queries fail.',
      locksOut: 'the servers',
      fix: 'Create the user in the directory, or add an authenticator that stores users (with skipOnFailure=true) before the directory authenticator.',
    }),
  ]
}
