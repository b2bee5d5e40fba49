import { unavailable } from '@svc/domain/failure'
import type { ServiceContext } from '@svc/shared/service'
import type { Target } from './target.ts'

// A query may take long, but requests to a broker that crashed or hangs must fail. A stopping broker leaves discovery
// a few seconds before it stops, and uses this time to finish its queries.
const silenceMs = 10_000

/** The addresses of targets. */
export interface TargetAddresses {
  /** Returns the URL of the leader, or of the next broker. Looks it up again if none is known. */
  find(role: Target['role']): Promise<string>
  /** The same after looking it up again, because a server could not be reached. */
  findAgain(role: Target['role']): Promise<string>
  /** Looks up all servers again, and keeps the known ones if this fails. */
  refresh(): Promise<void>
  /** Returns the URLs of all brokers. */
  brokers(): string[]
  /**
   * Returns a function that checks whether a broker has been missing from discovery for too long. Call it periodically.
   */
  watchBroker(origin: string): () => boolean
}

/** Creates the addresses of targets, which takes brokers in turn. */
export function createTargetAddresses(discovery: ServiceContext['discovery']): TargetAddresses {
  let nextBroker = 0

  const brokers = () => discovery.nodes('broker').map(({ baseUrl }) => baseUrl)

  const refresh = () => discovery.refresh().catch(() => undefined)

  const isKnown = (role: Target['role']): boolean =>
    role === 'broker' ? discovery.nodes(role).length > 0 : discovery.hasLeader(role)

  async function find(role: Target['role']): Promise<string> {
    if (!isKnown(role)) await refresh()
    if (role !== 'broker') return discovery.leader(role).baseUrl
    const running = brokers()
    const broker = running[nextBroker++ % Math.max(running.length, 1)]
    if (broker === undefined) throw unavailable('No broker is running')
    return broker
  }

  return {
    find,
    findAgain: async (role) => {
      await refresh()
      return await find(role)
    },
    refresh,
    brokers,
    watchBroker: (origin) => {
      let seenAtMs = performance.now()
      return () => {
        if (brokers().includes(origin)) seenAtMs = performance.now()
        return performance.now() - seenAtMs > silenceMs
      }
    },
  }
}
