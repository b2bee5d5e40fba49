import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { repositoryRoot } from '../home/index.ts'

// Few enough files that the processes of batches are busy for a similar time as those of the longest other tests.
const maxFiles = 35

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

/** Separates pure tests, which share processes, from the others. Writes the files of the batches to a folder. */
export function batchPureTests(
  files: readonly string[],
  folder: string,
): { batches: readonly Batch[]; others: readonly string[] } {
  const readSource = (file: string) => readFileSync(path.join(repositoryRoot, file), 'utf8')
  const pure = files.filter((file) => isPure(file, readSource(file)))
  // The output of a single file is the same as without batches.
  if (pure.length < 2) return { batches: [], others: files }
  const count = Math.ceil(pure.length / maxFiles)
  const size = Math.ceil(pure.length / count)
  const batches = Array.from({ length: count }, (_, index) =>
    writeBatch(path.join(folder, `batch-${index + 1}`), pure.slice(index * size, (index + 1) * size)),
  )
  return { batches, others: files.filter((file) => !pure.includes(file)) }
}

function writeBatch(base: string, tests: readonly string[]): Batch {
  const [file, mark] = [`${base}.test.mjs`, `${base}.complete`]
  const urls = tests.map((test) => [test, pathToFileURL(path.join(repositoryRoot, test)).href])
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
process.once('beforeExit', () => writeFileSync(${JSON.stringify(mark)}, ''))
for (const [name, url] of ${JSON.stringify(urls)})
  await import(url).catch((error) => test(name, () => { throw error }))
`,
  )
  return { file, tests, isComplete: () => existsSync(mark) }
}
