import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { repositoryRoot } from '../../home/index.ts'
import { type Allowances, lowerAllowances, overAllowance } from './allowances.ts'
import { type FoundPhrase, findPhrases } from './find-phrases.ts'

// A ratchet: existing phrases are allowed per file, and their number may only go down. Delete it once it is empty.
const allowancesFile = path.join(repositoryRoot, 'cli/src/development/writing/allowed.json')

const checkedFiles = [
  '*.{md,yml,yaml,cjs}',
  '{svc,Dockerfile,.dependency-cruiser.cjs,.ci/run}',
  '{data,docs}/**/*.md',
  '{deploy,test}/**/*.{yml,yaml,sh}',
  'deploy/monitoring/dashboard.json',
  'launcher/**/*.{mjs,mts}',
  '{packages,services}/*/src/**/*.ts',
  '{cli,container}/src/**/*.ts',
  'test/**/*.ts',
]
/** Generated files, recorded data, and the list of phrases itself. */
const notChecked = [
  '**/node_modules/**',
  '{CHANGELOG,LICENSE}*',
  'pnpm-lock.yaml',
  'docs/{metrics,properties,writing}.md',
  'test/fixtures/**',
  'cli/src/development/writing/*phrases*.ts',
]

type PhrasesByFile = ReadonlyMap<string, readonly FoundPhrase[]>

/** Returns the phrases to replace, by file, for every file whose path contains `part`. */
export function findAllPhrases(part = ''): PhrasesByFile {
  const files = globSync(checkedFiles, { cwd: repositoryRoot, exclude: notChecked })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => file.includes(part))
  return new Map(
    [...new Set(files)]
      .sort()
      .map(
        (file) => [file, findPhrases(file, readFileSync(path.join(repositoryRoot, file), 'utf8'))] as const,
      )
      .filter(([, found]) => found.length > 0),
  )
}

/** Returns one line per phrase for each file that exceeds its allowance; an empty list if the check passes. */
export function checkWording(): readonly string[] {
  const found = findAllPhrases()
  const allowances = readAllowances()
  return overAllowance(countsOf(found, allowances), allowances).flatMap(({ file, count, allowed }) => [
    ...linesOf(file, found.get(file) ?? []),
    ...(allowed === 0 ? [] : [`${file} has ${count} of these phrases; expected at most ${allowed}`]),
  ])
}

/** Lowers each allowance to the current count. Throws invalidInput if a file exceeds its allowance. */
export function updateAllowances(): void {
  const allowances = readAllowances()
  const lowered = lowerAllowances(countsOf(findAllPhrases(), allowances), allowances)
  writeFileSync(allowancesFile, `${JSON.stringify(lowered, null, 2)}\n`)
}

/** Returns lines `file:line  [phrase] use: …`. */
export function linesOf(file: string, found: readonly FoundPhrase[]): readonly string[] {
  return found.map(({ line, phrase, instead }) => `${file}:${line}  [${phrase}] use: ${instead}`)
}

/** Counts the phrases by file; files with an allowance that still exist and have none count as 0. */
function countsOf(found: PhrasesByFile, allowances: Allowances): Allowances {
  const existing = Object.keys(allowances).filter((file) => existsSync(path.join(repositoryRoot, file)))
  return {
    ...Object.fromEntries(existing.map((file) => [file, 0])),
    ...Object.fromEntries([...found].map(([file, { length }]) => [file, length])),
  }
}

const readAllowances = (): Allowances => JSON.parse(readFileSync(allowancesFile, 'utf8')) as Allowances
