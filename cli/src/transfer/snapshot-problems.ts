import { closeSync, openSync, writeSync } from 'node:fs'
import { describeError, invalidInput } from '@svc/domain/failure'

/** What cannot be read of a snapshot: all of it is counted, the first is kept to be told. */
export interface SnapshotProblems {
  note(problem: string): void
  readonly count: number
  /** The first ones, each with where it stands. */
  readonly told: readonly string[]
  /** All that was noted stands in the file, where there is one. */
  end(): void
}

/** As many as are read on a screen. */
const mostTold = 20

// Text that is written at once.
const chunkLength = 64 * 1024

/** No problems yet; `file` gets every one that is noted, one a line. Throws a Failure where it cannot be written. */
export function createProblems(file?: string): SnapshotProblems {
  const told: string[] = []
  let count = 0
  let unwritten = ''
  const descriptor = file === undefined ? undefined : open(file)
  const write = () => {
    if (descriptor !== undefined) writeSync(descriptor, unwritten)
    unwritten = ''
  }
  return {
    note: (problem) => {
      count += 1
      if (told.length < mostTold) told.push(problem)
      if (descriptor === undefined) return
      unwritten += `${problem}\n`
      if (unwritten.length >= chunkLength) write()
    },
    get count() {
      return count
    },
    told,
    end: () => {
      if (descriptor === undefined) return
      write()
      closeSync(descriptor)
    },
  }
}

function open(file: string): number {
  try {
    return openSync(file, 'w')
  } catch (error) {
    throw invalidInput(`File [${file}] of --problems cannot be written: ${describeError(error)}`)
  }
}

/** The problems line by line, and how many are not told. */
export function problemLines({ count, told }: SnapshotProblems): string[] {
  return count > told.length ? [...told, `and ${count - told.length} more`] : [...told]
}

/** The failure of a snapshot that has problems. */
export const problemsFailure = (source: string, problems: SnapshotProblems) =>
  invalidInput(
    `[${problems.count}] parts of [${source}] cannot be read, so nothing was made; --skip-bad leaves them out, --problems FILE gets every one\n${problemLines(
      problems,
    )
      .map((line) => `  ${line}`)
      .join('\n')}`,
  )
