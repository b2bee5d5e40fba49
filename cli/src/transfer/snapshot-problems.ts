import { invalidInput } from '@svc/domain/failure'

/** What cannot be read of a snapshot: all of it is counted, the first is kept to be told. */
export interface SnapshotProblems {
  note(problem: string): void
  readonly count: number
  /** The first ones, each with where it stands. */
  readonly told: readonly string[]
}

/** As many as are read on a screen. */
const mostTold = 20

/** No problems yet. */
export function createProblems(): SnapshotProblems {
  const told: string[] = []
  let count = 0
  return {
    note: (problem) => {
      count += 1
      if (told.length < mostTold) told.push(problem)
    },
    get count() {
      return count
    },
    told,
  }
}

/** The problems line by line, and how many are not told. */
export function problemLines({ count, told }: SnapshotProblems): string[] {
  return count > told.length ? [...told, `and ${count - told.length} more`] : [...told]
}

/** The failure of a snapshot that has problems. */
export const problemsFailure = (source: string, problems: SnapshotProblems) =>
  invalidInput(
    `[${problems.count}] parts of [${source}] cannot be read, so nothing was made; --skip-bad leaves them out\n${problemLines(
      problems,
    )
      .map((line) => `  ${line}`)
      .join('\n')}`,
  )
