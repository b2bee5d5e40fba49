import { invalidInput } from '../failure/index.ts'
import {
  described,
  isJsonObject,
  type JsonObject,
  optional,
  type Reader,
  readFields,
  readName,
  readOneOf,
  readWhole,
  refuse,
  schemaOf,
  showValue,
} from '../validation/index.ts'

/** What can be made to go wrong on purpose. */
export const faultKinds = ['latency', 'cut', 'kill', 'slow-disk'] as const
export type FaultKind = (typeof faultKinds)[number]

/** A fault that somebody asks for; times in milliseconds. */
export interface FaultRequest {
  readonly kind: FaultKind
  /** A role, or a server by host and port. */
  readonly target: string
  /** Of requests, of uses of the disk, or of seconds in which a server is killed: the part that it strikes. */
  readonly probability: number
  /** How long a request or a use of the disk waits. */
  readonly delayMs: number
  /** After which it ends by itself; null for never, or for a kill that strikes each server once at the most. */
  readonly forMs: number | null
}

/** A fault that is switched on; times in epoch milliseconds. */
export interface Fault extends Omit<FaultRequest, 'forMs'> {
  readonly id: string
  readonly since: number
  /** When it ends by itself. */
  readonly until: number | null
  /** A kill that strikes a server once at the most. */
  readonly once: boolean
}

/** A server as faults aim at it. */
export interface FaultAim {
  /** Missing of a virtual server: what aims at its role strikes the process in which it lives. */
  readonly role?: string
  /** Host and port. */
  readonly name: string
}

/** How long what waits may wait, and how long a fault with an end may last. */
export const faultLimits = {
  delayMs: { least: 1, most: 600_000 },
  forMs: { least: 100, most: 7 * 86_400_000 },
  /** Of a kill: who kills the only coordinator again and again has nobody to ask for an earlier end. */
  killForMs: { least: 100, most: 5 * 60_000 },
} as const
/** Why a kill may last no longer, as people are told. */
export const whyKillsAreShort = 'a kill of the only coordinator cannot be ended before'
const usualDelayMs = 1000
// There may be a thousand servers.
const mostToldTargets = 20
/** Within this time every server hears of a kill that strikes once. */
const onceMs = 10_000

/** A fault that never strikes is none. */
const readShare: Reader<number> = described(
  { type: 'number', exclusiveMinimum: 0, maximum: 1 },
  (json, field) => {
    if (typeof json === 'number' && json > 0 && json <= 1) return json
    throw refuse(field, json, 'a number above 0 and up to 1')
  },
)

const readRequest: Reader<FaultRequest> = readFields({
  kind: readOneOf(faultKinds),
  target: readName(),
  probability: optional(readShare, 1),
  delayMs: optional(readWhole(faultLimits.delayMs.least, faultLimits.delayMs.most), usualDelayMs),
  forMs: optional(readWhole(faultLimits.forMs.least, faultLimits.forMs.most)),
})

/** The JSON schema of a fault that somebody asks for. */
export const faultRequestSchema = (): JsonObject => ({ title: 'FaultRequest', ...schemaOf(readRequest) })

/** The fault that a JSON body asks for. A target that is none of `targets` is refused, and those are named. */
export function parseFaultRequest(json: unknown, targets: readonly string[]): FaultRequest {
  const request = readRequest(json, '')
  const { least, most } = faultLimits.killForMs
  if (request.kind === 'kill' && request.forMs !== null && request.forMs > most) {
    throw refuse(
      'forMs',
      request.forMs,
      `a whole number from ${least} to ${most} for a kill: ${whyKillsAreShort}`,
    )
  }
  if (targets.includes(request.target)) return request
  throw invalidInput(
    `target with the value [${showValue(request.target)}] is not a role or server of this cluster; expected ${tellTargets(targets)}`,
    { field: 'target' },
  )
}

function tellTargets(targets: readonly string[]): string {
  const more = targets.length - mostToldTargets
  return `${targets.slice(0, mostToldTargets).join(', ')}${more > 0 ? ` and ${more} more servers` : ''}`
}

/** The fault of a request, switched on at `now`. */
export function switchOn({ forMs, ...request }: FaultRequest, id: string, now: number): Fault {
  const once = request.kind === 'kill' && forMs === null
  const lastsMs = once ? onceMs : forMs
  return { id, ...request, since: now, until: lastsMs === null ? null : now + lastsMs, once }
}

/** The faults that are still on at `now`. */
export function faultsAt(faults: readonly Fault[], now: number): Fault[] {
  return faults.filter(({ until }) => until === null || now < until)
}

/** The faults that aim at a server. */
export function faultsAimedAt(faults: readonly Fault[], { role, name }: FaultAim): Fault[] {
  return faults.filter(({ target }) => target === role || target === name)
}

/** How long something waits, given a number from 0 to 1 for each fault of its kind that may strike. */
export function waitOf(
  faults: readonly Fault[],
  kind: 'latency' | 'slow-disk',
  random: () => number,
): number {
  return faults
    .filter((fault) => fault.kind === kind && random() < fault.probability)
    .reduce((sum, { delayMs }) => sum + delayMs, 0)
}

/** Whether a request to a server that is struck, or from it to another, is broken off. */
export function isCut(faults: readonly Fault[], random: () => number): boolean {
  return faults.some((fault) => fault.kind === 'cut' && random() < fault.probability)
}

/** What is kept of the faults in the store: a list of them; anything else is none. */
export function readFaults(json: unknown): readonly Fault[] {
  return Array.isArray(json) && json.every(isJsonObject) ? (json as unknown as Fault[]) : []
}
