import { keepNewest } from '../runtime/index.ts'
import type { LoginCounts } from './login-counts.ts'

interface Counter {
  count: number
  nextAt: number
  readonly endsAt: number
}

// Maximum number of counters, and of known sources, that a server keeps while Redis is unavailable.
const maxEntries = 10_000

/** Creates counts in the memory of this server. */
export function createLocalCounts(now: () => number): LoginCounts {
  const counters = new Map<string, Counter>()
  const knownUntil = new Map<string, number>()

  const counterOf = (key: string): Counter | undefined => {
    const counter = counters.get(key)
    return counter && counter.endsAt > now() ? counter : undefined
  }
  const isKnown = (source: string): boolean => (knownUntil.get(source) ?? Number.NEGATIVE_INFINITY) > now()

  return {
    begin: async ({ limits, source }, periodMs) => {
      const time = now()
      const counted = isKnown(source) ? limits.slice(0, 1) : limits
      for (const { key, max, delayMs, isFirst } of counted) {
        const counter = counterOf(key)
        if (!counter || counter.count < max) continue
        if (counter.nextAt > time) return counter.nextAt - time
        if (!isFirst) return delayMs
      }
      for (const { key, max, delayMs } of counted) {
        const counter = counterOf(key) ?? { count: 0, nextAt: 0, endsAt: time + periodMs }
        counter.count += 1
        if (counter.count >= max) counter.nextAt = time + delayMs
        keepNewest(counters, key, counter, maxEntries)
      }
      return 0
    },
    succeeded: async ({ limits, source }, knownMs) => {
      const [own, ...others] = limits
      if (own) counters.delete(own.key)
      if (!isKnown(source)) for (const { key } of others) takeBack(key)
      keepNewest(knownUntil, source, now() + knownMs, maxEntries)
    },
    undecided: async ({ limits, source }) => {
      for (const { key } of isKnown(source) ? limits.slice(0, 1) : limits) takeBack(key)
    },
  }

  function takeBack(key: string): void {
    const counter = counterOf(key)
    if (counter && counter.count > 0) counter.count -= 1
  }
}
