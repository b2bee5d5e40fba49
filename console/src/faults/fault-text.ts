import type { AnsweredFault, FaultKind } from '@svc/domain/faults'
import { countOf } from '@svc/domain/text'
import { formatSpan } from '../formats/index.ts'

/** The kinds of faults, with what a user calls them and what they do to a server, to a virtual server, and to calls. */
export const faultChoices: readonly {
  readonly kind: FaultKind
  readonly label: string
  readonly effect: string
  readonly virtualEffect: string
}[] = [
  {
    kind: 'latency',
    label: 'Slow',
    effect: 'Each request to it is delayed.',
    virtualEffect: 'Each of its loads and drops starts later.',
  },
  {
    kind: 'cut',
    label: 'Cut off',
    effect: 'Connections to it and from it close without a response. Postgres and Redis stay reachable.',
    virtualEffect: 'Its reports are lost.',
  },
  {
    kind: 'kill',
    label: 'Kill',
    effect: 'Its process is killed, and restarts.',
    virtualEffect: 'It does not respond for 2 s, and loses its pending requests.',
  },
  {
    kind: 'slow-disk',
    label: 'Slow disk',
    effect: 'Access to deep storage and to its cache is delayed.',
    virtualEffect: 'It takes longer to load segments.',
  },
]

/** Returns what a fault does, in a few words. */
export function faultText({ kind, delayMs, probability }: AnsweredFault): string {
  const text = {
    latency: `${formatDelay(delayMs)} slower`,
    'slow-disk': `disk ${formatDelay(delayMs)} slower`,
    cut: 'cut off',
    kill: 'killed',
  }[kind]
  return probability < 1 ? `${text}, ${Math.round(probability * 100)}%` : text
}

const formatDelay = (ms: number): string => (ms % 1000 === 0 ? countOf(ms / 1000, 's', 's') : `${ms} ms`)

/** Returns how long a fault lasts from now on. */
export function remainingText({ until, once }: Pick<AnsweredFault, 'until' | 'once'>, now: number): string {
  // A server learns of the kill within seconds, and is killed only once, so the time says nothing.
  if (once) return 'once'
  return until === null ? 'until you clear it' : `${formatSpan(Date.parse(until) - now)} left`
}
