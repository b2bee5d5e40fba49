import { closeSync, openSync, writeSync } from 'node:fs'
import { describeError, invalidInput } from '@svc/domain/failure'
import { countOf } from '../terminal/index.ts'

/** Unreadable parts of a snapshot: counts all, and lists the first ones. */
export interface SnapshotProblems {
  note(problem: string): void
  readonly count: number
  /** The first problems, each with its location. */
  readonly listed: readonly string[]
  /** Writes all remaining problems to the file, if there is one. */
  end(): void
}

/** As many as fit on a screen. */
const maxListed = 20

// Max length of the text that is buffered before it is written.
const chunkLength = 64 * 1024

/** An empty list of problems; `file` receives every problem, one per line. Throws a Failure if it is not writable. */
export function createProblems(file?: string): SnapshotProblems {
  const listed: string[] = []
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
      if (listed.length < maxListed) listed.push(problem)
      if (descriptor === undefined) return
      unwritten += `${problem}\n`
      if (unwritten.length >= chunkLength) write()
    },
    get count() {
      return count
    },
    listed,
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
    throw invalidInput(`Failed to write the file [${file}] given with --problems: ${describeError(error)}`)
  }
}

/** The listed problems, one per line, and how many more there are. */
export function problemLines({ count, listed }: SnapshotProblems): string[] {
  return count > listed.length ? [...listed, `and ${count - listed.length} more`] : [...listed]
}

/** The failure of a snapshot that has problems. */
export const problemsFailure = (source: string, problems: SnapshotProblems) =>
  invalidInput(
    `Found ${countOf(problems.count, 'unreadable part')} in [${source}], so nothing was created. Use --skip-bad to skip unreadable parts, and --problems FILE to list all of them.\n${problemLines(
      problems,
    )
      .map((line) => `  ${line}`)
      .join('\n')}`,
  )
