import type { Entry } from '../history.ts'
import { type Fault, instances } from '../schedule.ts'
import { ofType, type Story } from './story.ts'

/** Max time without a leader for a role while one of its servers could lead. */
const leaderBackMs = 10_000
/** Max time until the cluster works again after all faults have ended. */
const recoveryMs = 30_000

/** Only the server with the lease claims to be the leader, and terms increase. */
export function oneLeader({ entries }: Story): string[] {
  const found: string[] = []
  const looks = ofType(entries, 'leases')
  const roles = ['coordinator', 'overlord'] as const
  for (const role of roles) {
    // The times between which an instance is known to have had the lease.
    const held = looks.flatMap(({ from, until, leases }) => {
      const lease = leases.find((other) => other.role === role)
      return lease ? [{ from, until, ...lease }] : []
    })
    for (const [index, now] of held.entries()) {
      const before = held[index - 1]
      if (!before) continue
      if (now.term < before.term)
        found.push(`The term of [${role}] decreased from ${before.term} to ${now.term}`)
      if (now.term === before.term && now.instance !== before.instance)
        found.push(
          `Term ${now.term} of [${role}] belonged to [${before.instance}] and then to [${now.instance}]`,
        )
    }
    const holders = new Map(held.map(({ term, instance }) => [term, instance]))
    const claims = claimsOf(entries, role)
    /** Earlier claims, each with the lowest term that it can have been made in. */
    const placed: { instance: string; until: number; term: number }[] = []
    for (const { instance, from, until } of claims) {
      // An answer may have been in flight for long, so only claims that ended before this request was sent came
      // earlier.
      const known = held.findLast((look) => look.until <= from)
      const newest = held.find((look) => look.from >= until)?.term ?? Number.POSITIVE_INFINITY
      const min = Math.max(
        known?.term ?? 0,
        ...placed
          .filter((claim) => claim.until <= from)
          .map((claim) => (claim.instance === instance ? claim.term : claim.term + 1)),
      )
      let term = min
      while (term <= newest && (holders.get(term) ?? instance) !== instance) term++
      if (term > newest)
        found.push(
          `[${instance}] claimed leadership after ${Math.round(from)} ms, when the term was at least ${min}, but it had none of the terms up to ${newest}`,
        )
      else placed.push({ instance, until, term })
    }
  }
  return found
}

const services: readonly string[] = Object.values(instances).flat()

interface Span {
  readonly from: number
  readonly until: number
}

interface FaultSpan extends Span {
  readonly fault: Fault
}

/** The times of faults. A killed server counts as faulty until it is ready again. */
export function faultsOf(entries: readonly Entry[]): FaultSpan[] {
  const ends = new Map(ofType(entries, 'faultEnd').map((end) => [end.id, end]))
  const readies = ofType(entries, 'ready')
  return ofType(entries, 'fault').flatMap(({ step: { id, fault }, at }) => {
    const end = ends.get(id)
    if (end?.skipped !== undefined) return []
    const endedAt = end?.at ?? Number.POSITIVE_INFINITY
    const isRestart = fault.kind === 'kill' && services.includes(fault.target)
    const ready = readies.find((one) => one.instance === fault.target && one.at >= endedAt)
    return [{ fault, from: at, until: isRestart ? (ready?.at ?? Number.POSITIVE_INFINITY) : endedAt }]
  })
}

/** The times at which an instance could not lead. */
const unavailableSpans = (entries: readonly Entry[], instance: string): Span[] =>
  faultsOf(entries).filter(
    ({ fault }) => fault.target === instance || fault.target === 'postgres' || isCutOff(fault, instance),
  )

const isCutOff = (fault: Fault, instance: string): boolean =>
  'to' in fault && fault.target === instance && fault.to === 'postgres'

/** A time span that should be short; at least this long if another fault ended it. */
interface Gap {
  readonly since: number
  readonly ms: number
  readonly isComplete: boolean
}

/** The times of a role without a leader while one of its servers could lead. */
function leaderlessGaps({ entries }: Story, role: 'coordinator' | 'overlord'): Gap[] {
  const unavailable = instances[role].map((instance) => unavailableSpans(entries, instance))
  /** The longest uninterrupted time within a span in which one instance could lead. */
  const longestFree = ({ from, until }: Span): number => {
    const edges = [from, until, ...unavailable.flat().flatMap((span) => [span.from, span.until])]
      .filter((edge) => edge >= from && edge <= until)
      .sort((a, b) => a - b)
    let longest = 0
    let freeSince: number | undefined
    for (const [index, edge] of edges.slice(0, -1).entries()) {
      const middle = (edge + (edges[index + 1] as number)) / 2
      const isBlocked = unavailable.every((spans) =>
        spans.some((span) => span.from <= middle && middle < span.until),
      )
      freeSince = isBlocked ? undefined : (freeSince ?? edge)
      if (freeSince !== undefined) longest = Math.max(longest, (edges[index + 1] as number) - freeSince)
    }
    return longest
  }
  const claims = claimsOf(entries, role)
  const end = ofType(entries, 'rest').at(-1)?.at ?? 0
  return claims.map((claim, index) => {
    const next = claims[index + 1]?.from ?? Math.max(end, claim.until)
    return { since: claim.until, ms: longestFree({ from: claim.until, until: next }), isComplete: true }
  })
}

const claimsOf = (entries: readonly Entry[], role: string) =>
  ofType(entries, 'claim')
    .filter((claim) => claim.role === role)
    .sort((a, b) => a.from - b.from)

/** Roles have a leader again soon after they lost one. */
export function leaderBack(story: Story): string[] {
  return (['coordinator', 'overlord'] as const).flatMap((role) => {
    if (claimsOf(story.entries, role).length === 0) return [`[${role}] never had a leader`]
    return leaderlessGaps(story, role)
      .filter(({ ms }) => ms > leaderBackMs)
      .map(
        ({ since, ms }) => `[${role}] had no leader for ${Math.round(ms)} ms after ${Math.round(since)} ms`,
      )
  })
}

/**
 * The time from the end of the last of several overlapping faults until the cluster worked, or until the next fault.
 */
function recoveries({ entries }: Story): Gap[] {
  const faults = faultsOf(entries)
  const probes = ofType(entries, 'probe').filter(({ problem }) => problem === null)
  return faults.flatMap(({ until }) => {
    if (faults.some((other) => other.from <= until && other.until > until)) return []
    if (until === Number.POSITIVE_INFINITY) return [{ since: until, ms: until, isComplete: true }]
    const next = Math.min(...faults.filter((other) => other.from > until).map(({ from }) => from))
    const recovered = probes.find(({ from }) => from >= until)?.until ?? Number.POSITIVE_INFINITY
    return [{ since: until, ms: Math.min(recovered, next) - until, isComplete: recovered <= next }]
  })
}

/** The cluster works soon after the last of several overlapping faults. */
export function recovery(story: Story): string[] {
  return recoveries(story)
    .filter(({ ms }) => ms > recoveryMs)
    .map(({ since, ms }) => {
      const took = ms === Number.POSITIVE_INFINITY ? 'Never' : `Only ${Math.round(ms)} ms`
      return `${took} after the faults that ended at ${Math.round(since)} ms, the cluster worked again`
    })
}

/** The longest times of a history, in milliseconds. */
export interface LongestTimes {
  /** Without a leader of a role while one of its servers could lead. */
  readonly leaderlessMs: number
  /**
   * From the end of the last of several overlapping faults until the cluster worked again, if it did before the next
   * fault.
   */
  readonly recoveryMs: number
}

/** Returns the longest times of a history. */
export function longestTimes(story: Story): LongestTimes {
  const gaps = (['coordinator', 'overlord'] as const).flatMap((role) => leaderlessGaps(story, role))
  const longest = (of: readonly Gap[]) =>
    Math.max(0, ...of.filter(({ isComplete }) => isComplete).map(({ ms }) => ms))
  return { leaderlessMs: longest(gaps), recoveryMs: longest(recoveries(story)) }
}
