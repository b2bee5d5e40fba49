import { dropOldest } from '../runtime/index.ts'

/** The addresses from which users have logged in to this server. */
export interface KnownSources {
  has(user: string, address: string): boolean
  add(user: string, address: string): void
}

// Users with the addresses that they use at a time; the others are verified again.
const maxSources = 10_000

/** Remembers the latest addresses from which users have logged in. */
export function createKnownSources(): KnownSources {
  const sources = new Set<string>()
  // An address has no blanks.
  const keyOf = (user: string, address: string): string => `${address} ${user}`
  return {
    has: (user, address) => sources.has(keyOf(user, address)),
    add: (user, address) => {
      const key = keyOf(user, address)
      sources.delete(key)
      sources.add(key)
      dropOldest(sources, maxSources)
    },
  }
}
