import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { repositoryRoot } from '../home/index.ts'

// Few enough files that a process of a batch is busy for a similar time as those of the longest other tests.
const maxFiles = { pure: 35, others: 15 }

/** Test files that run in one process. */
export interface Batch {
  /** The file that loads them. */
  readonly file: string
  readonly tests: readonly string[]
  /** Whether the process has reached its end, so that the results of all tests are known. */
  isComplete(): boolean
}

/**
 * Whether a test only calls functions: it imports neither test support nor modules of Node.js, so it starts no process and
 * uses no file, port or store. For such a test, starting a process takes longer than everything else.
 */
export function isPure(file: string, source: string): boolean {
  // The code of this package cannot do anything else.
  if (file.startsWith('packages/domain/')) return true
  const imports = [...source.matchAll(/\bfrom '([^']+)'|\bimport\('([^']+)'\)/g)].map(
    ([, one, other]) => one ?? other!,
  )
  return imports.every((name) =>
    name.startsWith('node:')
      ? ['node:assert', 'node:assert/strict', 'node:test'].includes(name)
      : !/\/testing(\/index\.ts)?$|\/test-[\w-]+\.ts$/.test(name),
  )
}

/**
 * Whether a test has to run in its own process, because it starts other processes, or changes or measures something that
 * belongs to the whole process.
 */
export function needsOwnProcess(source: string): boolean {
  return /'node:child_process'|\bprocess\.(env|on|once|chdir|memoryUsage|cpuUsage)\b|\bmock\.|\bstartCluster\(/.test(
    source,
  )
}

/** Separates tests that share processes from the others. Writes the files of the batches to a folder. */
export function batchTests(
  files: readonly string[],
  folder: string,
): { batches: readonly Batch[]; others: readonly string[] } {
  const sources = new Map(files.map((file) => [file, readFileSync(path.join(repositoryRoot, file), 'utf8')]))
  const pure = files.filter((file) => isPure(file, sources.get(file)!))
  const sharing = files.filter(
    (file) => !pure.includes(file) && !file.startsWith('test/') && !needsOwnProcess(sources.get(file)!),
  )
  const groups = [...divide(pure, maxFiles.pure), ...divide(sharing, maxFiles.others)].filter(
    // The output of a single file is the same as without batches.
    ({ length }) => length > 1,
  )
  const inBatches = new Set(groups.flat())
  return {
    batches: groups.map((tests, index) => writeBatch(path.join(folder, `batch-${index + 1}`), tests)),
    others: files.filter((file) => !inBatches.has(file)),
  }
}

/** Divides files into groups of the same size; neighbors, which often take similar time, get into different groups. */
function divide(files: readonly string[], maxSize: number): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / maxSize)
  return Array.from({ length: count }, (_, group) => files.filter((_, index) => index % count === group))
}

/** Each file gets a suite, so that its hooks only apply to its own tests. */
function writeBatch(base: string, tests: readonly string[]): Batch {
  const [file, mark] = [`${base}.test.mjs`, `${base}.complete`]
  const urls = tests.map((test) => [test, pathToFileURL(path.join(repositoryRoot, test)).href])
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'
process.once('beforeExit', () => writeFileSync(${JSON.stringify(mark)}, ''))
for (const [name, url] of ${JSON.stringify(urls)})
  describe(name, () => import(url).then(() => {}, (error) => test('loading', () => { throw error })))
`,
  )
  return { file, tests, isComplete: () => existsSync(mark) }
}
