import { filterFormatProblem, hasPlaceholder } from '@svc/domain/access'
import type { DirectoryAddress } from '@svc/shared/config'
import { type LdapProbeResult, ldapFilterProblem, probeLdap } from '@svc/shared/security'
import { type Configuration, placeOf, type Server, secretOf, textOf } from './configuration.ts'
import type { Facts } from './facts.ts'
import type { LocationMap } from './location-map.ts'
import { type Authenticator, addressesOf, directoriesOf } from './logins.ts'
import { storeUses } from './stores.ts'

const timeoutMs = 5000

const ends = ['url', 'bindUser', 'bindPassword', 'baseDn', 'userSearch'] as const

/** Servers with the same lines of the same file have the same directory, which is tried only once. */
const keyOf = (server: Server, { prefix }: Authenticator): string =>
  JSON.stringify(ends.map((end) => placeOf(server, `${prefix}.credentialsValidator.${end}`)))

/** Returns why the search filters of all directories are not valid. */
export async function readFilterProblems({ servers }: Configuration): Promise<Facts['filterProblem']> {
  const problems = new Map<string, string | undefined>()
  for (const server of servers)
    for (const { prefix } of directoriesOf(server)) {
      const filter = textOf(server, `${prefix}.credentialsValidator.userSearch`)
      if (filter !== undefined && !problems.has(filter)) problems.set(filter, await ldapFilterProblem(filter))
    }
  return (filter) => problems.get(filter)
}

/** Binds and searches once at each directory, as the servers do. */
export async function probeDirectories(
  { servers }: Configuration,
  locations: LocationMap,
  { storeOf, filterProblem }: Pick<Facts, 'storeOf' | 'filterProblem'>,
): Promise<Facts['directoryOf']> {
  const results = new Map<string, LdapProbeResult | undefined>()
  for (const server of servers)
    for (const authenticator of directoriesOf(server)) {
      const key = keyOf(server, authenticator)
      if (results.has(key)) continue
      results.set(key, await probe(server, authenticator, locations, { storeOf, filterProblem }))
    }
  return (server, authenticator) => results.get(keyOf(server, authenticator))
}

/** Tries the addresses until one can be reached. Returns undefined if the properties are not complete or not valid. */
async function probe(
  server: Server,
  authenticator: Authenticator,
  locations: LocationMap,
  facts: Pick<Facts, 'storeOf' | 'filterProblem'>,
): Promise<LdapProbeResult | undefined> {
  let result: LdapProbeResult | undefined
  for (const address of addressesOf(server, authenticator)) {
    result = await probeAt(address, server, authenticator, locations, facts)
    if (result?.kind !== 'unreachable') return result
  }
  return result
}

/** Returns undefined if the properties are not complete or not valid; other checks report that. */
async function probeAt(
  address: DirectoryAddress,
  server: Server,
  authenticator: Authenticator,
  locations: LocationMap,
  { storeOf, filterProblem }: Pick<Facts, 'storeOf' | 'filterProblem'>,
): Promise<LdapProbeResult | undefined> {
  const text = (end: string) => textOf(server, `${authenticator.prefix}.credentialsValidator.${end}`)
  const [baseDn, userSearch, bindUser] = [text('baseDn'), text('userSearch') ?? '(uid=%s)', text('bindUser')]
  const bindPassword = secretOf(server, `${authenticator.prefix}.credentialsValidator.bindPassword`)
  const isIncomplete = baseDn === undefined || filterProblem(userSearch) !== undefined
  const isInvalid = !hasPlaceholder(userSearch) || filterFormatProblem(userSearch) !== undefined
  if (isIncomplete || isInvalid) return undefined
  if (bindUser !== undefined && bindPassword === undefined) return undefined
  const use = storeUses(server).find(({ owner }) => owner === 'druid.auth.basic.ssl')
  const store = use && storeOf(use)
  if (address.isTls && store?.kind !== 'open') return undefined
  const internalUser = textOf(server, 'druid.escalator.internalClientUsername')
  return await probeLdap({
    ...locations.addressOf(address.host, address.port),
    tls:
      address.isTls && store?.kind === 'open'
        ? { authorities: store.trusted.map(String), servername: address.host.replace(/^\[|\]$/g, '') }
        : undefined,
    bindUser,
    bindPassword: bindPassword?.reveal() ?? '',
    baseDn,
    userSearch,
    users: internalUser === undefined ? [] : [internalUser],
    timeoutMs,
  })
}
