import type { FaultKind } from '@svc/domain/faults'

/** The path of the faults API. */
export const faultsPath = '/svc/simulation/v1/faults'

/** A fault as returned by a cluster. */
export interface AnsweredFault {
  readonly id: string
  readonly kind: FaultKind
  /** A role, or a server by host and port. */
  readonly target: string
  readonly probability: number
  readonly delayMs: number
  readonly since: string
  readonly until: string | null
}

/** Whether a kind of fault delays operations. */
export const hasDelay = (kind: FaultKind): boolean => kind === 'latency' || kind === 'slow-disk'

/** When a fault ends, as text. */
export const endOf = ({ until }: AnsweredFault): string => until ?? 'it is cleared'

/** A short description of a fault: its kind, its probability, and its end. */
export function describeFault(fault: AnsweredFault): string {
  const { kind, delayMs, probability } = fault
  const wait = hasDelay(kind) ? ` ${delayMs} ms` : ''
  const chance = probability < 1 ? ` (probability ${probability})` : ''
  return `fault: ${kind}${wait}${chance} until ${endOf(fault)}`
}
