import { type AnsweredFault, hasDelay } from '@svc/domain/faults'

/** When a fault ends, as text. */
export const endOf = ({ until }: AnsweredFault): string => until ?? 'it is cleared'

/** What a fault affects, as text: its target, or the requests from one server to another. */
export const affectedBy = ({ target, from }: AnsweredFault): string =>
  from === null ? target : `${from} → ${target}`

/** A short description of a fault: its kind, its probability, and its end. */
export function describeFault(fault: AnsweredFault): string {
  const { kind, from, delayMs, probability } = fault
  const wait = hasDelay(kind) ? ` ${delayMs} ms` : ''
  const chance = probability < 1 ? ` (probability ${probability})` : ''
  const between = from === null ? '' : ` of requests from ${from}`
  return `fault: ${kind}${wait}${between}${chance} until ${endOf(fault)}`
}
