import { existsSync, globSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** The clocks that servers read, each by itself. Those of Postgres and Redis stay: Redis does not start under the library. */
export interface Clocks {
  /** Why they cannot be moved, if so. */
  readonly without: readonly string[]
  /** The variables with which a server reads a clock of its own. */
  variablesOf(instance: string): Readonly<Record<string, string>>
  /** Sets how far the clock of an instance is from the true one, from within a second on. */
  move(instance: string, byMs: number): void
  /** Removes what processes that were killed have left behind. */
  close(): void
}

const libraries = '/usr/{lib,lib64,local/lib}{/*,}/faketime/libfaketimeMT.so.1'
const sharedMemory = '/dev/shm'

/** Clocks that libfaketime moves, by files in `folder`; where it is not installed they all are the true one. */
export function openClocks(folder: string): Clocks {
  const [library] = globSync(libraries)
  if (library === undefined) {
    return {
      without: ['moveClock: libfaketime is not there (Debian has it in the package libfaketime)'],
      variablesOf: () => ({}),
      move: () => undefined,
      close: () => undefined,
    }
  }
  const fileOf = (instance: string): string => path.join(folder, `${instance}.clock`)
  const move = (instance: string, byMs: number): void => {
    // Whole or not at all: it is read at any time.
    const growing = `${fileOf(instance)}.new`
    writeFileSync(growing, `${byMs < 0 ? '' : '+'}${byMs / 1000}\n`)
    renameSync(growing, fileOf(instance))
  }
  // Of a run that was ended before its end.
  removeLeftovers()
  return {
    without: [],
    variablesOf: (instance) => {
      if (!existsSync(fileOf(instance))) move(instance, 0)
      return {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: fileOf(instance),
        // How long what was read of the file counts, in seconds.
        FAKETIME_CACHE_DURATION: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        NO_FAKE_STAT: '1',
      }
    },
    move,
    close: removeLeftovers,
  }
}

/** The library makes shared memory for each process, named by its number, and removes it at an orderly end only. */
function removeLeftovers(): void {
  for (const name of readdirSync(sharedMemory)) {
    const pid = /^(?:sem\.)?faketime_(?:sem|shm)_(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(path.join(sharedMemory, name), { force: true })
  }
}
