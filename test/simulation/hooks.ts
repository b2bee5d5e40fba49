import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const repositoryRoot = path.resolve(import.meta.dirname, '../..')
const urlOf = (file: string): string => pathToFileURL(path.join(repositoryRoot, file)).href
const standIn = (file: string): string => urlOf(`test/simulation/stand-ins/${file}`)

/** Files of the product and their stand-ins. */
const standIns = new Map(
  Object.entries({
    'packages/shared/src/postgres/index.ts': 'postgres/index.ts',
    'packages/shared/src/redis/index.ts': 'redis/index.ts',
    'packages/shared/src/client/connections.ts': 'http/connections.ts',
    'packages/shared/src/discovery/election.ts': 'election.ts',
    'packages/shared/src/service/run-service.ts': 'run-service.ts',
    'packages/shared/src/task-running/run-peon.ts': 'run-peon.ts',
    'packages/shared/src/ingestion/run-index-task.ts': 'run-index-task.ts',
    'packages/shared/src/compaction/rewriting/rewrite-segments.ts': 'rewrite-segments.ts',
    'services/broker/src/query-processes/index.ts': 'query-processes.ts',
    'services/broker/src/server-view/index.ts': 'server-view.ts',
    'services/router/src/agents.ts': 'agents.ts',
    'services/router/src/relay.ts': 'relay.ts',
  }).map(([file, replacement]) => [urlOf(file), standIn(replacement)]),
)

/** Modules of Node.js and packages that code of the product imports, and their stand-ins. */
const packages = new Map(
  Object.entries({
    'node:crypto': 'crypto.ts',
    'node:fs/promises': 'file-system.ts',
    'node:timers/promises': 'timers-promises.ts',
    winston: 'winston.ts',
  }).map(([name, replacement]) => [name, standIn(replacement)]),
)

const product = ['packages', 'services'].map((folder) => urlOf(folder))
const simulation = urlOf('test/simulation')

/** A change to the source of the product. */
export interface Mutation {
  /** Relative to the root of the repository. */
  readonly file: string
  /** Text that occurs once in the file. */
  readonly find: string
  readonly replace: string
}

/** Changes the source of the product as it is loaded. Throws if the text to replace does not occur exactly once. */
export function mutateSource({ file, find, replace }: Mutation): void {
  const [before, after, ...more] = readFileSync(fileURLToPath(urlOf(file)), 'utf8').split(find)
  if (after === undefined || more.length > 0)
    throw new Error(`[${file}] does not contain this text once: ${find}`)
  const source = before + replace + after
  registerHooks({
    load: (url, context, next) =>
      url === urlOf(file) ? { format: 'module-typescript', source, shortCircuit: true } : next(url, context),
  })
}

const typescript = (url: string) => ({ url, shortCircuit: true, format: 'module-typescript' })

/**
 * Returns the URL of a source file that a module names by its relative path; undefined for anything else. Node.js looks for the file and
 * for the format of its package, which takes a large part of the start.
 */
const sourceFile = (specifier: string, parentURL: string): string | undefined =>
  specifier.startsWith('.') && specifier.endsWith('.ts') ? new URL(specifier, parentURL).href : undefined

/** Makes modules of the product import stand-ins. The stand-ins themselves import the originals. */
export function replaceModules(): void {
  registerHooks({
    resolve: (specifier, context, next) => {
      const { parentURL = '' } = context
      const source = sourceFile(specifier, parentURL)
      if (parentURL.startsWith(`${simulation}/stand-ins/`))
        return source === undefined ? next(specifier, context) : typescript(source)
      const replacement = product.some((folder) => parentURL.startsWith(folder)) && packages.get(specifier)
      if (replacement) return typescript(replacement)
      if (source !== undefined) return typescript(standIns.get(source) ?? source)
      const resolved = next(specifier, context)
      const url = standIns.get(resolved.url)
      return url === undefined ? resolved : typescript(url)
    },
  })
}
