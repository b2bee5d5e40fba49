import { existsSync, globSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * The clocks of the servers, which can be moved separately. Those of Postgres and Redis cannot: Redis does
 * not start with the library.
 */
export interface Clocks {
  /** Why they cannot be moved, if they cannot. */
  readonly without: readonly string[]
  /** The environment variables with which a server reads its own clock. */
  variablesOf(instance: string): Readonly<Record<string, string>>
  /** Sets the offset of an instance's clock from the real time; takes effect within a second. */
  move(instance: string, byMs: number): void
  /** Cleans up after killed processes. */
  close(): void
}

const libraries = '/usr/{lib,lib64,local/lib}{/*,}/faketime/libfaketimeMT.so.1'
const sharedMemory = '/dev/shm'

/**
 * Clocks moved by libfaketime, through files in `folder`; if it is not installed, all clocks show the real
 * time.
 */
export function openClocks(folder: string): Clocks {
  const [library] = globSync(libraries)
  if (library === undefined) {
    return {
      without: ['moveClock: libfaketime is not installed (Debian package libfaketime)'],
      variablesOf: () => ({}),
      move: () => undefined,
      close: () => undefined,
    }
  }
  const fileOf = (instance: string): string => path.join(folder, `${instance}.clock`)
  const move = (instance: string, byMs: number): void => {
    // Atomic, because it can be read at any time.
    const growing = `${fileOf(instance)}.new`
    writeFileSync(growing, `${byMs < 0 ? '' : '+'}${byMs / 1000}\n`)
    renameSync(growing, fileOf(instance))
  }
  // Left by an interrupted run.
  removeLeftovers()
  return {
    without: [],
    variablesOf: (instance) => {
      if (!existsSync(fileOf(instance))) move(instance, 0)
      return {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: fileOf(instance),
        // Seconds for which the content of the file is cached.
        FAKETIME_CACHE_DURATION: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        NO_FAKE_STAT: '1',
      }
    },
    move,
    close: removeLeftovers,
  }
}

/**
 * The library creates shared memory for each process, named by its process id, and removes it only on a clean
 * exit.
 */
function removeLeftovers(): void {
  for (const name of readdirSync(sharedMemory)) {
    const pid = /^(?:sem\.)?faketime_(?:sem|shm)_(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(path.join(sharedMemory, name), { force: true })
  }
}
