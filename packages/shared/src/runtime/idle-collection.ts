import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const periodMs = 5000
// More growth of the heap in one period means that the process is working.
const maxIdleGrowthBytes = 4 * 1024 * 1024
const minGarbageBytes = 8 * 1024 * 1024
// A collection takes longer the more there is to keep, so a large heap needs to have more garbage.
const minGarbageShare = 0.25

/** Decides when to collect garbage. */
export interface IdleCollector {
  /** Takes the size of the heap, measured periodically; returns whether to collect now. */
  isDue(usedBytes: number): boolean
  /** Takes the size of the heap after a collection. */
  collected(usedBytes: number): void
}

/**
 * V8 collects garbage when a process allocates memory. A process that has become idle after large requests keeps their
 * garbage, so the collector looks for a heap that is larger than it has been, and does not grow.
 */
export function createIdleCollector(): IdleCollector {
  // The first idle moment is always worth a collection: starting leaves garbage, too.
  let lowestBytes = 0
  let lastBytes = 0
  return {
    isDue: (usedBytes) => {
      const isIdle = usedBytes - lastBytes < maxIdleGrowthBytes
      lastBytes = usedBytes
      lowestBytes = Math.min(lowestBytes, usedBytes)
      const garbageBytes = usedBytes - lowestBytes
      return isIdle && garbageBytes >= Math.max(minGarbageBytes, lowestBytes * minGarbageShare)
    },
    collected: (usedBytes) => {
      // What is left is in use, even if it is more than before.
      lowestBytes = usedBytes
      lastBytes = usedBytes
    },
  }
}

/** Collects the garbage of this process while it is idle. */
export function collectIdleGarbage(): { stop(): Promise<void> } {
  const collector = createIdleCollector()
  const usedBytes = (): number => getHeapStatistics().used_heap_size
  let collect: (() => void) | undefined
  const timer = setInterval(() => {
    if (!collector.isDue(usedBytes())) return
    collect ??= exposeCollection()
    collect()
    collector.collected(usedBytes())
  }, periodMs)
  timer.unref()
  return { stop: async () => clearInterval(timer) }
}

/** Returns the function that collects garbage. With --expose-gc on the command line, a process would start more slowly. */
function exposeCollection(): () => void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return collect
}
