import {
  described,
  isJsonObject,
  type JsonObject,
  optional,
  type Reader,
  readFields,
  readInteger,
  readName,
  readOneOf,
  refuse,
  schemaOf,
} from '../validation/index.ts'

/** The kinds of faults that can be injected. */
export const faultKinds = ['latency', 'cut', 'kill', 'slow-disk'] as const
export type FaultKind = (typeof faultKinds)[number]

/** The kinds of faults that can affect only the requests from one server to another. */
export const kindsBetweenServers: readonly FaultKind[] = ['latency', 'cut']

/** Whether a kind of fault delays operations. */
export const hasDelay = (kind: FaultKind): boolean => kind === 'latency' || kind === 'slow-disk'

/** A request to inject a fault. Times are in milliseconds. */
export interface FaultRequest {
  readonly kind: FaultKind
  /** A role, or a server by host and port. */
  readonly target: string
  /** The server, by host and port, whose requests to the target are the only affected ones; null for all requests. */
  readonly from: string | null
  /** Share of requests or disk accesses that are affected; for a kill, the probability per second. */
  readonly probability: number
  /** Delay of a request or disk access. */
  readonly delayMs: number
  /** Duration; null if it does not end, or for a kill that kills each server at most once. */
  readonly forMs: number | null
}

/** An active fault. Times are in milliseconds since the epoch. */
export interface Fault extends Omit<FaultRequest, 'forMs'> {
  readonly id: string
  readonly since: number
  /** When it ends; null if it does not end. */
  readonly until: number | null
  /** Whether it is a kill that kills each server at most once. */
  readonly once: boolean
}

/** The path for injecting and ending faults. Faults never affect it; otherwise, nobody could end them. */
export const faultsPath = '/svc/simulation/v1/faults'

/** An active fault as the API returns it. Times are ISO 8601. */
export interface AnsweredFault extends Omit<Fault, 'since' | 'until'> {
  readonly since: string
  /** When it ends; null if it does not end. */
  readonly until: string | null
}

/** A server that faults can target. */
export interface FaultAim {
  /** Missing for a virtual server: a fault that targets its role affects the process that it runs in. */
  readonly role?: string
  /** Host and port. */
  readonly name: string
}

/** What faults can target: roles, and servers by host and port. */
export interface FaultTargets {
  readonly roles: readonly string[]
  readonly servers: readonly string[]
}

/** Limits of the delay and duration of a fault, in milliseconds. */
export const faultLimits = {
  delayMs: { min: 1, max: 600_000 },
  forMs: { min: 100, max: 7 * 86_400_000 },
  /** For a kill: while the only coordinator is killed again and again, nothing can end the fault early. */
  killForMs: { min: 100, max: 5 * 60_000 },
} as const
/** Why kills have a short max duration, for error messages. */
export const maxKillReason = 'a kill fault on the only coordinator cannot be cleared early'
const defaultDelayMs = 1000
// A cluster can have a thousand servers.
const maxListedTargets = 20
/** Every server learns of a one-time kill within this time. */
const onceMs = 10_000

/** Excludes 0: a fault with probability 0 would do nothing. */
const readShare: Reader<number> = described(
  { type: 'number', exclusiveMinimum: 0, maximum: 1 },
  (json, field) => {
    if (typeof json === 'number' && json > 0 && json <= 1) return json
    throw refuse(field, json, 'a number greater than 0 and at most 1')
  },
)

const readRequest: Reader<FaultRequest> = readFields({
  kind: readOneOf(faultKinds),
  target: readName(),
  from: optional(readName()),
  probability: optional(readShare, 1),
  delayMs: optional(readInteger(faultLimits.delayMs.min, faultLimits.delayMs.max), defaultDelayMs),
  forMs: optional(readInteger(faultLimits.forMs.min, faultLimits.forMs.max)),
})

/** JSON schema of a fault request. */
export const faultRequestSchema = (): JsonObject => ({ title: 'FaultRequest', ...schemaOf(readRequest) })

/** Parses a fault request. Throws invalidInput with the known targets if its target is not one of them. */
export function parseFaultRequest(json: unknown, { roles, servers }: FaultTargets): FaultRequest {
  const request = readRequest(json, '')
  const { kind, target, from, forMs } = request
  const { min, max } = faultLimits.killForMs
  if (kind === 'kill' && forMs !== null && forMs > max)
    throw refuse('forMs', forMs, `an integer from ${min} to ${max} for a kill, because ${maxKillReason}`)
  if (from === null) {
    checkTarget('target', target, [...roles, ...servers])
    return request
  }
  if (!kindsBetweenServers.includes(kind))
    throw refuse('kind', kind, `one of [${kindsBetweenServers.join(', ')}] for a fault with [from]`)
  checkTarget('from', from, servers)
  checkTarget('target', target, servers)
  return request
}

/** Throws invalidInput with some known targets if a target is not one of them. */
function checkTarget(field: string, target: string, known: readonly string[]): void {
  if (known.includes(target)) return
  const more = known.length - maxListedTargets
  const listed = `[${known.slice(0, maxListedTargets).join(', ')}]`
  throw refuse(
    field,
    target,
    more > 0 ? `a role or server of this cluster, such as ${listed} (and ${more} more)` : `one of ${listed}`,
  )
}

/** Returns the fault for a request, active from `now`. */
export function switchOn({ forMs, ...request }: FaultRequest, id: string, now: number): Fault {
  const once = request.kind === 'kill' && forMs === null
  const durationMs = once ? onceMs : forMs
  return { id, ...request, since: now, until: durationMs === null ? null : now + durationMs, once }
}

/** Returns the faults that are still active at `now`. */
export function faultsAt(faults: readonly Fault[], now: number): Fault[] {
  return faults.filter(({ until }) => until === null || now < until)
}

/** Returns the faults that target a server, independent of the caller. */
export function faultsAimedAt(faults: readonly Fault[], { role, name }: FaultAim): Fault[] {
  return faults.filter(({ target, from }) => from === null && (target === role || target === name))
}

/** Returns the faults that affect only the requests from one server to another, given by host and port. */
export const faultsBetween = (faults: readonly Fault[], caller: string, called: string): Fault[] =>
  faults.filter(({ target, from }) => from === caller && target === called)

/** Returns the total delay in milliseconds. `random` returns a number from 0 to 1 for each fault of this kind. */
export function waitOf(
  faults: readonly Fault[],
  kind: 'latency' | 'slow-disk',
  random: () => number,
): number {
  return faults
    .filter((fault) => fault.kind === kind && random() < fault.probability)
    .reduce((sum, { delayMs }) => sum + delayMs, 0)
}

/** Whether to cut a request to or from a server with these faults. */
export function isCut(faults: readonly Fault[], random: () => number): boolean {
  return faults.some((fault) => fault.kind === 'cut' && random() < fault.probability)
}

/** Reads the list of stored faults. Returns an empty list if the value is not such a list. */
export function readFaults(json: unknown): readonly Fault[] {
  if (!Array.isArray(json) || !json.every(isJsonObject)) return []
  // Earlier versions stored faults without `from`.
  return (json as unknown as Fault[]).map((fault) => ({ ...fault, from: fault.from ?? null }))
}
