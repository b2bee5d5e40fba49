import type { DirectoryAddress } from '@svc/shared/config'
import type { LdapProbeResult } from '@svc/shared/security'
import { placeOf, type Server, textOf } from '../configuration.ts'
import type { Check, CheckInput, Hit, Severity } from '../findings.ts'
import { type Authenticator, addressesOf, directoriesOf } from '../logins.ts'

/** The effect of everything that keeps a server from finding users in a directory. */
export const nobodyLogsIn =
  'No directory user can log in: every login fails with status 401, as if the password were wrong.'

/** The users of authenticators, as the subject of a finding. */
export const usersOf = (authenticators: readonly Pick<Authenticator, 'name'>[]): string =>
  `users of ${authenticators.map(({ name }) => name).join(' and ')}`

/** A directory with its properties, as checks see it. */
export interface Directory {
  readonly name: string
  /** In the order in which Java tries them; none if a URL is not valid. */
  readonly addresses: readonly DirectoryAddress[]
  readonly result: LdapProbeResult | undefined
  /** Returns the full name of a property. */
  property(end: string): string
  /** Returns the value of a property. */
  text(end: string): string | undefined
  hit(end: string, texts: Omit<Hit, 'at'>): Hit
}

function viewOf(server: Server, authenticator: Authenticator, { facts }: CheckInput): Directory {
  const property = (end: string) => `${authenticator.prefix}.credentialsValidator.${end}`
  return {
    name: authenticator.name,
    addresses: addressesOf(server, authenticator),
    result: facts.directoryOf(server, authenticator),
    property,
    text: (end) => textOf(server, property(end)),
    hit: (end, texts) => ({
      at: placeOf(server, server.properties.has(property(end)) ? property(end) : property('type')),
      ...(texts.effect.startsWith(nobodyLogsIn) ? { locksOut: usersOf([authenticator]) } : {}),
      ...texts,
    }),
  }
}

/** A check of each directory of a server. */
export const ofDirectory = (
  code: string,
  severity: Severity,
  find: (directory: Directory, server: Server, input: CheckInput) => readonly Hit[],
): Check => ({
  code,
  severity,
  find: (server, input) =>
    directoriesOf(server).flatMap((authenticator) =>
      find(viewOf(server, authenticator, input), server, input),
    ),
})
