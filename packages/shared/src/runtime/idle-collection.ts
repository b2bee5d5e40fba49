import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openMallocTrim } from './trim-malloc.ts'

const periodMs = 5000
// More growth of the heap in one period means that the process is working.
const maxIdleGrowthBytes = 4 * 1024 * 1024
// More CPU time in one period, too.
const maxIdleCpuMs = 500
const minGarbageBytes = 8 * 1024 * 1024
// A collection takes longer the more there is to keep, so a large heap needs to have more garbage.
const minGarbageShare = 0.25
// The collection called last-resort also returns free memory to the operating system, but visits everything up to seven times.
const maxLastResortBytes = 64 * 1024 * 1024
const minTrimmedBytes = 16 * 1024 * 1024
const periodsBetweenTrims = 4

/** Decides when to collect garbage. */
export interface IdleCollector {
  /** Takes the size of the heap and the CPU time of the process, measured periodically; returns whether to collect now. */
  isDue(usedBytes: number, cpuMs: number): boolean
  /** Takes the size of the heap after a collection; returns whether to return free memory to the operating system. */
  collected(usedBytes: number): boolean
}

/**
 * V8 collects garbage when a process allocates memory. A process that has become idle after large requests keeps their
 * garbage, so the collector looks for a heap that is larger than it has been, and does not grow. The heap of a process that works
 * does not grow either whenever V8 has collected garbage in between, so the CPU time counts, too.
 */
export function createIdleCollector(): IdleCollector {
  // The first idle moment is always worth a collection: starting leaves garbage, too.
  let lowestBytes = 0
  let lastBytes = 0
  let lastCpuMs = 0
  return {
    isDue: (usedBytes, cpuMs) => {
      const isIdle = usedBytes - lastBytes < maxIdleGrowthBytes && cpuMs - lastCpuMs < maxIdleCpuMs
      lastBytes = usedBytes
      lastCpuMs = cpuMs
      lowestBytes = Math.min(lowestBytes, usedBytes)
      const garbageBytes = usedBytes - lowestBytes
      return isIdle && garbageBytes >= Math.max(minGarbageBytes, lowestBytes * minGarbageShare)
    },
    collected: (usedBytes) => {
      // What is left is in use, even if it is more than before.
      lowestBytes = usedBytes
      lastBytes = usedBytes
      return usedBytes <= maxLastResortBytes
    },
  }
}

/** Decides when to return free memory of native code to the operating system. */
export interface IdleTrimmer {
  /** Takes the memory of the process, measured periodically. */
  isDue(residentBytes: number): boolean
  /** Takes the memory of the process afterward. */
  trimmed(residentBytes: number): void
}

/**
 * Nothing shows how much of the memory of native code is free, so the trimmer looks for a process that has more memory than
 * before, and does not grow. It tries again after a while: connections may have been open at first.
 */
export function createIdleTrimmer(): IdleTrimmer {
  let lowestBytes = Number.POSITIVE_INFINITY
  let lastBytes = 0
  let periods = 0
  return {
    isDue: (residentBytes) => {
      const isIdle = residentBytes - lastBytes < maxIdleGrowthBytes
      lastBytes = residentBytes
      lowestBytes = Math.min(lowestBytes, residentBytes)
      periods += 1
      return isIdle && periods >= periodsBetweenTrims && residentBytes - lowestBytes >= minTrimmedBytes
    },
    trimmed: (residentBytes) => {
      lastBytes = residentBytes
      lowestBytes = Math.min(lowestBytes, residentBytes)
      periods = 0
    },
  }
}

/**
 * From now on, objects that are not new may take up half as much memory again before V8 collects their garbage; by default,
 * they may take up several times as much. While a process starts, this would cost time.
 */
export const limitHeapGrowth = (): void => setFlagsFromString('--heap-growing-percent=50')

/** Collects the garbage of this process while it is idle, and returns free memory of native code to the operating system. */
export function collectIdleGarbage(): { stop(): Promise<void> } {
  const collector = createIdleCollector()
  const trimmer = createIdleTrimmer()
  const usedBytes = (): number => getHeapStatistics().used_heap_size
  let collect: NodeJS.GCFunction | undefined
  let trim: (() => void) | undefined
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage()
    if (collector.isDue(usedBytes(), (user + system) / 1000)) {
      collect ??= exposeCollection()
      collect({ type: 'major', flavor: 'regular' })
      if (collector.collected(usedBytes())) collect({ type: 'major', flavor: 'last-resort' })
    }
    if (!trimmer.isDue(process.memoryUsage.rss())) return
    trim ??= openMallocTrim() ?? (() => undefined)
    trim()
    trimmer.trimmed(process.memoryUsage.rss())
  }, periodMs)
  timer.unref()
  return { stop: async () => clearInterval(timer) }
}

/** Returns the function that collects garbage. With --expose-gc on the command line, a process would start more slowly. */
function exposeCollection(): NodeJS.GCFunction {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as NodeJS.GCFunction
  setFlagsFromString('--no-expose-gc')
  return collect
}
