import {
  assertRunnableBy,
  type ClusterCompactionConfig,
  type CompactionConfig,
  defaultClusterConfig,
  formatClusterConfig,
  formatCompactionConfig,
  parseClusterConfig,
  parseCompactionConfig,
} from '@svc/domain/compaction'
import { invalidInput } from '@svc/domain/failure'
import { ascending } from '@svc/domain/order'
import { formatRule, type Rule } from '@svc/domain/rules'
import {
  type Attempt,
  readJsonObject,
  readSnapshotRules,
  readSnapshotServers,
  type SnapshotServer,
  shorten,
} from '@svc/domain/snapshot'
import {
  type CoordinatorConfig,
  readConfigChange,
  readCoordinatorConfig,
} from '@svc/shared/coordinator-dynamic-config'
import { attempt } from './restricted-parts.ts'
import type { SnapshotProblems } from './snapshot-problems.ts'
import { type DocumentName, documents, type SnapshotSource } from './snapshot-source.ts'

/** The inventory and configuration of a cluster, except its segments. */
export interface SnapshotDocuments {
  readonly servers: readonly SnapshotServer[]
  /** By datasource, sorted by name; the cluster defaults are in `_default`. */
  readonly rules: ReadonlyMap<string, readonly Rule[]>
  readonly compaction:
    | { readonly cluster: ClusterCompactionConfig; readonly configs: readonly CompactionConfig[] }
    | undefined
  /** Complete: fields that are missing in the source have their defaults. */
  readonly config: CoordinatorConfig | undefined
  /** Optional documents that the source does not have. */
  readonly missing: readonly DocumentName[]
}

/** Reads and checks all documents; records invalid parts as problems and skips them. */
export async function readDocuments(
  source: SnapshotSource,
  problems: SnapshotProblems,
): Promise<SnapshotDocuments> {
  const missing: DocumentName[] = []
  const attempting: Attempt = (where, read) => attempt(problems, where, read)
  const read = async <Value>(name: DocumentName, of: (document: unknown) => Value) => {
    const document = await source.document(name)
    if (document !== undefined) return attempt(problems, documents[name].file, () => of(document))
    missing.push(name)
    return undefined
  }
  return {
    servers: (await read('servers', (document) => readSnapshotServers(document, attempting))) ?? [],
    rules: (await read('rules', (document) => readSnapshotRules(document, attempting))) ?? new Map(),
    compaction: await read('compaction', (document) => readCompaction(document, problems)),
    config: await read('config', readConfig),
    missing,
  }
}

/** The documents as JSON for their files, in a canonical order. */
export function formatDocuments(snapshot: SnapshotDocuments): ReadonlyMap<DocumentName, unknown> {
  const { servers, rules, compaction, config } = snapshot
  const found = new Map<DocumentName, unknown>([
    ['servers', servers],
    ['rules', Object.fromEntries([...rules].map(([name, list]) => [name, list.map(formatRule)]))],
  ])
  if (compaction) {
    const { configs, cluster } = compaction
    const compactionConfigs = configs.map(formatCompactionConfig)
    found.set('compaction', { compactionConfigs, ...formatClusterConfig(cluster) })
  }
  if (config) found.set('config', Object.fromEntries(Object.entries(withoutNulls(config)).sort(byFirst)))
  return found
}

function readCompaction(document: unknown, problems: SnapshotProblems) {
  const { compactionConfigs = [], ...others } = readJsonObject(document)
  if (!Array.isArray(compactionConfigs))
    throw invalidInput(
      `Invalid value [${shorten(compactionConfigs)}] for [compactionConfigs]: expected a list`,
    )
  const { file } = documents.compaction
  const cluster = attempt(problems, file, () => parseClusterConfig(others)) ?? defaultClusterConfig
  const configs: CompactionConfig[] = []
  for (const [index, entry] of compactionConfigs.entries()) {
    attempt(problems, file, () => {
      const config = parseCompactionConfig(entry, `compactionConfigs[${index}]`)
      assertRunnableBy(config, cluster)
      configs.push(config)
    })
  }
  return { cluster, configs: configs.sort((a, b) => ascending(a.dataSource, b.dataSource)) }
}

const readConfig = (document: unknown): CoordinatorConfig =>
  readCoordinatorConfig({
    value: JSON.stringify(readConfigChange(withoutNulls(readJsonObject(document)), '')),
  })

const withoutNulls = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))

const byFirst = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => ascending(a, b)
