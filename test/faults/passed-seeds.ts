import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from '@svc/cli/home'

/** A seed that has passed: how long work and faults lasted, and with which source. */
export interface PassedSeed {
  readonly seed: number
  readonly seconds: number
  readonly commit: string
  /** Faults that could not be made. */
  readonly without: readonly string[]
}

/** Where they stand, one a line. */
export const passedSeedsFile = path.join(repositoryRoot, 'docs/passed-seeds.jsonl')

/** All seeds that have passed. Throws a plain error where the file is no such list. */
export function readPassedSeeds(file: string): PassedSeed[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as PassedSeed)
}

/** Adds one. */
export function recordPassedSeed(file: string, passed: PassedSeed): void {
  appendFileSync(file, `${JSON.stringify(passed)}\n`)
}

/** The seeds of a list that have not passed yet for so long. */
export function seedsToRun(
  seeds: readonly number[],
  seconds: number,
  passed: readonly PassedSeed[],
): number[] {
  const done = new Set(passed.filter((one) => one.seconds >= seconds).map(({ seed }) => seed))
  return seeds.filter((seed) => !done.has(seed))
}

/** The commit of the source; undefined where files differ from it, so that no commit tells what has run. */
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
