import type { FaultKind } from '@svc/domain/faults'

/** Where faults are asked for. */
export const faultsPath = '/svc/simulation/v1/faults'

/** A fault as a cluster tells it. */
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

/** Whether what a fault strikes waits. */
export const hasDelay = (kind: FaultKind): boolean => kind === 'latency' || kind === 'slow-disk'

/** When it ends, as people are told. */
export const endOf = ({ until }: AnsweredFault): string => until ?? 'it is cleared'

/** A fault in a few words: what it does, how often, and until when. */
export function tellFault(fault: AnsweredFault): string {
  const { kind, delayMs, probability } = fault
  const wait = hasDelay(kind) ? ` ${delayMs} ms` : ''
  const share = probability < 1 ? ` (probability ${probability})` : ''
  return `fault: ${kind}${wait}${share} until ${endOf(fault)}`
}
