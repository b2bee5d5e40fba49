import {
  assertRunnableBy,
  type ClusterCompactionConfig,
  type CompactionConfig,
  defaultClusterConfig,
  formatClusterConfig,
  formatCompactionConfig,
  parseCompactionConfig,
  parseStoredClusterConfig,
} from '@svc/domain/compaction'
import { invalidInput } from '@svc/domain/failure'
import { formatRule, parseRules, type Rule } from '@svc/domain/rules'
import { readName } from '@svc/domain/validation'
import {
  type CoordinatorConfig,
  readConfigChange,
  readCoordinatorConfig,
} from '@svc/shared/coordinator-config'
import { attempt } from './restricted-parts.ts'
import { shorten } from './segment-row.ts'
import type { SnapshotProblems } from './snapshot-problems.ts'
import { type DocumentName, documents, type SnapshotSource } from './snapshot-source.ts'

/** A server that loads segments. */
export interface SnapshotServer {
  /** Host and port. */
  readonly host: string
  readonly tier: string
  readonly type: 'historical'
  readonly priority: number
  readonly maxSize: number
}

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
  const read = async <Value>(name: DocumentName, of: (document: unknown) => Value) => {
    const document = await source.document(name)
    if (document !== undefined) return attempt(problems, documents[name].file, () => of(document))
    missing.push(name)
    return undefined
  }
  return {
    servers: (await read('servers', (document) => readServers(document, problems))) ?? [],
    rules: (await read('rules', (document) => readRules(document, problems))) ?? new Map(),
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

const readHost = readName()
const readTier = readName()
const readDataSource = readName()

function readServers(document: unknown, problems: SnapshotProblems): SnapshotServer[] {
  if (!Array.isArray(document))
    throw invalidInput(`Invalid value [${shorten(document)}]: expected a list of servers`)
  const servers = new Map<string, SnapshotServer>()
  for (const [index, entry] of document.entries()) {
    attempt(problems, `${documents.servers.file} server [${index + 1}]`, () => {
      const { host, tier, type, priority = 0, maxSize } = objectOf(entry)
      // The list also contains brokers and others, which do not load segments.
      if (type !== 'historical') return
      if (!Number.isSafeInteger(maxSize) || (maxSize as number) < 0)
        throw invalidInput(
          `Invalid value [${shorten(maxSize)}] for [maxSize]: expected a whole number of bytes`,
        )
      if (!Number.isSafeInteger(priority))
        throw invalidInput(`Invalid value [${shorten(priority)}] for [priority]: expected a whole number`)
      const server: SnapshotServer = {
        host: readHost(host, 'host'),
        tier: readTier(tier, 'tier'),
        type,
        priority: priority as number,
        maxSize: maxSize as number,
      }
      if (servers.has(server.host)) throw invalidInput(`Duplicate host [${server.host}]`)
      servers.set(server.host, server)
    })
  }
  return [...servers.values()].sort((a, b) => compareTexts(a.tier, b.tier) || compareTexts(a.host, b.host))
}

function readRules(document: unknown, problems: SnapshotProblems): Map<string, Rule[]> {
  const found = new Map<string, Rule[]>()
  for (const [name, list] of Object.entries(objectOf(document)).sort(byFirst)) {
    attempt(problems, documents.rules.file, () =>
      found.set(readDataSource(name, 'name of a datasource'), parseRules(list, `[${shorten(name)}]`)),
    )
  }
  return found
}

function readCompaction(document: unknown, problems: SnapshotProblems) {
  const { compactionConfigs = [], ...others } = objectOf(document)
  if (!Array.isArray(compactionConfigs))
    throw invalidInput(
      `Invalid value [${shorten(compactionConfigs)}] for [compactionConfigs]: expected a list`,
    )
  const { file } = documents.compaction
  const cluster = attempt(problems, file, () => parseStoredClusterConfig(others)) ?? defaultClusterConfig
  const configs: CompactionConfig[] = []
  for (const [index, entry] of compactionConfigs.entries()) {
    attempt(problems, file, () => {
      const config = parseCompactionConfig(entry, `compactionConfigs[${index}]`)
      assertRunnableBy(config, cluster)
      configs.push(config)
    })
  }
  return { cluster, configs: configs.sort((a, b) => compareTexts(a.dataSource, b.dataSource)) }
}

const readConfig = (document: unknown): CoordinatorConfig =>
  readCoordinatorConfig({ value: JSON.stringify(readConfigChange(withoutNulls(objectOf(document)), '')) })

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidInput(`Invalid value [${shorten(value)}]: expected a JSON object`)
  return value as Record<string, unknown>
}

const withoutNulls = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const byFirst = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  compareTexts(a, b)
