import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from '@svc/cli/home'

/** A seed that has passed, with the duration of work and faults, and the commit of the source. */
export interface PassedSeed {
  readonly seed: number
  readonly seconds: number
  readonly commit: string
  /** Faults that were not possible. */
  readonly without: readonly string[]
}

/** The file of passed seeds, one per line. */
export const passedSeedsFile = path.join(repositoryRoot, 'docs/passed-seeds.jsonl')

/** Returns all seeds that have passed. Throws an Error if the file is invalid. */
export function readPassedSeeds(file: string): PassedSeed[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as PassedSeed)
}

/** Records a seed that has passed. */
export function recordPassedSeed(file: string, passed: PassedSeed): void {
  appendFileSync(file, `${JSON.stringify(passed)}\n`)
}

/** The seeds of a list that have not yet passed a run of this duration. */
export function seedsToRun(
  seeds: readonly number[],
  seconds: number,
  passed: readonly PassedSeed[],
): number[] {
  const done = new Set(passed.filter((one) => one.seconds >= seconds).map(({ seed }) => seed))
  return seeds.filter((seed) => !done.has(seed))
}

/**
 * The commit of the source; undefined if files have uncommitted changes, so that no commit describes the run.
 */
export function commitOfSource(): string | undefined {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' }).trim()
  const changed = git(
    'status',
    '--porcelain',
    '--',
    '.',
    `:!${path.relative(repositoryRoot, passedSeedsFile)}`,
  )
  return changed === '' ? git('rev-parse', '--short', 'HEAD') : undefined
}
