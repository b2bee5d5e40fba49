import { dropOldest } from '../runtime/index.ts'

/** The addresses from which users have logged in to this server. */
export interface KnownSources {
  has(user: string, address: string): boolean
  add(user: string, address: string): void
}

// Max pairs of user and address. Logins from older pairs are verified again.
const maxSources = 10_000

/** Creates a record of the latest addresses from which users have logged in. */
export function createKnownSources(): KnownSources {
  const sources = new Set<string>()
  // An address contains no spaces.
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
