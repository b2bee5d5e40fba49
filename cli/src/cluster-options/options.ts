import { invalidInput } from '@svc/domain/failure'

/** The roles of services, in display order. */
export const roles = ['router', 'coordinator', 'overlord', 'broker', 'historical', 'worker'] as const

/** The role of a service. */
export type Role = (typeof roles)[number]

/** The roles with a number of instances; historicals have a number per tier instead. */
export type CountedRole = Exclude<Role, 'historical'>

/** `secure` has TLS, logins, and an escalator; `plain` has none of them. */
export const profiles = ['secure', 'plain'] as const

/** One of `profiles`. */
export type Profile = (typeof profiles)[number]

/** A property set by the user. */
export interface PropertySetting {
  /** A role or an instance; undefined for all services. */
  readonly target: string | undefined
  readonly name: string
  readonly value: string
}

/** The processes of a cluster and the configuration of its services. */
export interface PlanOptions {
  /** Offset added to every port: 0, or at least 1000. */
  readonly portOffset: number
  /** Number of historicals by tier, in the given order. */
  readonly historicals: ReadonlyMap<string, number>
  /** Number of services by role. Default: 1 of each, and no workers. */
  readonly instances: ReadonlyMap<CountedRole, number>
  readonly profile: Profile
  readonly set: readonly PropertySetting[]
  /** Whether to run a sample directory whose users can log in. */
  readonly ldap: boolean
  /** Whether `set` has all security properties, so that there are no defaults for them. */
  readonly hasOwnSecurity: boolean
}

/** Per role. */
const maxInstances = 32

/** Per tier. The number of available ports also limits the total. */
const maxPerTier = 360

/** Redis has the highest base port, and the last port is 65535. */
const maxPortOffset = 65535 - 16379

const defaultHistoricals = '_default_tier=1'

/** Options as the user writes them on the command line; all are optional. */
export interface WrittenOptions {
  readonly portOffset?: number | string | undefined
  /** Such as `hot=2,_default_tier=3`. */
  readonly historicals?: string | undefined
  /** Such as `coordinator=2,overlord=2`. */
  readonly instances?: string | undefined
  readonly profile?: string | undefined
  /** Each as `name=value` or `role.name=value`. */
  readonly set?: readonly string[] | undefined
  readonly ldap?: boolean | undefined
  readonly hasOwnSecurity?: boolean | undefined
}

/** Parses the options. Throws a Failure that names the option, the value, and what is expected. */
export function parseOptions(written: WrittenOptions): PlanOptions {
  return {
    portOffset: parsePortOffset(written.portOffset ?? 0),
    historicals: parseHistoricals(written.historicals ?? defaultHistoricals),
    instances: parseInstances(written.instances ?? ''),
    profile: parseProfile(written.profile ?? 'secure'),
    set: (written.set ?? []).map(parseSetting),
    ldap: parseLdap(written),
    hasOwnSecurity: written.hasOwnSecurity ?? false,
  }
}

function parseLdap({ ldap = false, profile = 'secure' }: WrittenOptions): boolean {
  if (ldap && profile !== 'secure') {
    throw invalidInput(
      `Option --ldap requires the profile [secure], not [${profile}], because only [secure] has logins`,
    )
  }
  return ldap
}

function parsePortOffset(written: number | string): number {
  const offset = /^\d+$/.test(String(written)) ? Number(written) : Number.NaN
  if (offset === 0 || (offset >= 1000 && offset <= maxPortOffset)) return offset
  throw invalidInput(
    `Invalid value [${written}] for [--port-offset]: expected 0, or a number from 1000 to ${maxPortOffset}`,
  )
}

function parseProfile(written: string): Profile {
  const profile = profiles.find((known) => known === written)
  if (profile) return profile
  throw invalidInput(`Invalid value [${written}] for [--profile]: expected one of [${profiles.join('], [')}]`)
}

function parseHistoricals(written: string): Map<string, number> {
  const counts = parseCounts('--historicals', written, maxPerTier)
  for (const tier of counts.keys()) {
    // The name is part of folder and file names.
    if (/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/.test(tier)) continue
    throw invalidInput(
      `Invalid tier [${tier}] in [--historicals]: expected up to 64 letters, digits, [_], [.], and [-]`,
    )
  }
  return counts
}

function parseInstances(written: string): Map<CountedRole, number> {
  const counts = parseCounts('--instances', written, maxInstances)
  const counted = roles.filter((role) => role !== 'historical')
  for (const role of counts.keys()) {
    if (counted.some((known) => known === role)) continue
    throw invalidInput(`Invalid role [${role}] in [--instances]: expected one of [${counted.join('], [')}]`)
  }
  return counts as Map<CountedRole, number>
}

/** Parses `name=count,name=count`. */
function parseCounts(option: string, written: string, max: number): Map<string, number> {
  const counts = new Map<string, number>()
  for (const part of written.split(',')) {
    if (part.trim() === '') continue
    const [name = '', count = '', ...rest] = part.split('=').map((text) => text.trim())
    const isCount = /^\d+$/.test(count) && Number(count) >= 1 && Number(count) <= max && rest.length === 0
    if (!isCount || name === '') {
      throw invalidInput(
        `Invalid entry [${part}] in [${option}]: expected name=count with a count from 1 to ${max}`,
      )
    }
    if (counts.has(name)) throw invalidInput(`Duplicate name [${name}] in [${option}]`)
    counts.set(name, Number(count))
  }
  return counts
}

/** Set by the plan for every instance: any other value would break the cluster. */
const planned = new Map([
  ['svc.plaintextPort', 'use --port-offset'],
  ['svc.tlsPort', 'use --port-offset'],
  ['svc.server.tier', 'use --historicals'],
  ['svc.metadata.storage.connector.port', 'use --port-offset'],
  ['svc.queue.redis.port', 'use --port-offset'],
])

function parseSetting(written: string): PropertySetting {
  const equals = written.indexOf('=')
  const left = written.slice(0, equals).trim()
  const match = /^(?:([a-z][A-Za-z0-9_.-]*)\.)??(svc\.[^\s=]+)$/.exec(left)
  if (equals < 1 || !match) {
    throw invalidInput(
      `Invalid value [${written}] for [--set]: expected name=value or role.name=value with a name that starts with svc., ` +
        'such as historical.svc.server.maxSize=1g',
    )
  }
  const target = match[1]
  if (target !== undefined && !roles.some((role) => target === role || target.startsWith(`${role}-`))) {
    throw invalidInput(
      `Invalid role [${target}] in [--set]: expected one of the roles [${roles.join('], [')}] or the name of an instance`,
    )
  }
  const name = match[2]!
  const instead = planned.get(name)
  if (instead) throw invalidInput(`Property [${name}] is managed by ./svc: ${instead}`)
  return { target, name, value: written.slice(equals + 1) }
}
