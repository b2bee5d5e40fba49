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
import { defaultRulesName, formatRule, type Rule } from '@svc/domain/rules'
import {
  type Attempt,
  readJsonObject,
  readSnapshotRules,
  readSnapshotServers,
  type SnapshotServer,
  shorten,
} from '@svc/domain/snapshot'
import { isJsonObject } from '@svc/domain/validation'
import {
  type CoordinatorConfig,
  readConfigChange,
  readCoordinatorConfig,
} from '@svc/shared/coordinator-dynamic-config'
import { listOf } from '../terminal/index.ts'
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
  /** What unreadable parts change in a home. */
  readonly unreadable: readonly UnreadablePart[]
}

/** An unreadable part that was skipped, and what applies instead. */
export interface UnreadablePart {
  readonly part: string
  readonly effect: string
}

const unreadableDocuments: Readonly<Record<DocumentName, UnreadablePart>> = {
  servers: { part: 'servers', effect: 'left out' },
  rules: { part: 'rules', effect: 'left out, so [_default_tier] loads 2 replicas of every segment' },
  compaction: {
    part: 'compaction configuration',
    effect: 'left out, so the defaults apply, and no datasource is compacted automatically',
  },
  config: {
    part: 'dynamic configuration of the coordinator',
    effect: 'left out, so all of its fields have their defaults',
  },
}

/** Reads and checks all documents; records invalid parts as problems and skips them. */
export async function readDocuments(
  source: SnapshotSource,
  problems: SnapshotProblems,
): Promise<SnapshotDocuments> {
  const missing: DocumentName[] = []
  const unreadable: UnreadablePart[] = []
  const attempting: Attempt = (where, read) => attempt(problems, where, read)
  const read = async <Value>(name: DocumentName, of: (document: unknown) => Value) => {
    const document = await source.document(name)
    if (document === undefined) {
      missing.push(name)
      return undefined
    }
    const value = attempt(problems, documents[name].file, () => of(document))
    if (value === undefined) unreadable.push(unreadableDocuments[name])
    return value
  }
  const readRules = (document: unknown) => {
    const rules = readSnapshotRules(document, attempting)
    unreadable.push(
      ...unreadableRules(Object.keys(readJsonObject(document)).filter((name) => !rules.has(name))),
    )
    return rules
  }
  return {
    servers: (await read('servers', (document) => readSnapshotServers(document, attempting))) ?? [],
    rules: (await read('rules', readRules)) ?? new Map(),
    compaction: await read('compaction', (document) => readCompaction(document, problems, unreadable)),
    config: await read('config', (document) => readConfig(document, problems, unreadable)),
    missing,
    unreadable,
  }
}

function unreadableRules(names: readonly string[]): UnreadablePart[] {
  const datasources = names.filter((name) => name !== defaultRulesName).sort(ascending)
  return [
    ...(datasources.length === 0
      ? []
      : [
          {
            part: 'rules',
            effect: `left out for ${listOf(datasources)}, because each rule depends on the ones before it; the default rules apply`,
          },
        ]),
    ...(datasources.length === names.length
      ? []
      : [
          {
            part: 'default rules',
            effect:
              'left out, because each rule depends on the ones before it; [_default_tier] loads 2 replicas of all segments to which no other rule applies',
          },
        ]),
  ]
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

function readCompaction(document: unknown, problems: SnapshotProblems, unreadable: UnreadablePart[]) {
  const { compactionConfigs = [], ...others } = readJsonObject(document)
  if (!Array.isArray(compactionConfigs))
    throw invalidInput(
      `Invalid value [${shorten(compactionConfigs)}] for [compactionConfigs]: expected a list`,
    )
  const { file } = documents.compaction
  const part = 'compaction configuration of the cluster'
  const fields = readableFields(others, parseClusterConfig, { problems, unreadable, file, part })
  const readCluster = attempt(problems, file, () => parseClusterConfig(fields))
  if (readCluster === undefined) unreadable.push({ part, effect: 'left out, so the defaults apply' })
  const cluster = readCluster ?? defaultClusterConfig
  const configs: CompactionConfig[] = []
  const skipped: string[] = []
  for (const [index, entry] of compactionConfigs.entries()) {
    const read = attempt(problems, file, () => {
      const config = parseCompactionConfig(entry, `compactionConfigs[${index}]`)
      assertRunnableBy(config, cluster)
      return config
    })
    if (read === undefined) skipped.push(nameOfCompactionConfig(entry) ?? `number ${index + 1}`)
    else configs.push(read)
  }
  if (skipped.length > 0)
    unreadable.push({
      part: 'compaction configurations',
      effect: `left out for ${listOf(skipped)}, because a configuration without its unreadable fields would compact differently; these datasources are not compacted automatically`,
    })
  return { cluster, configs: configs.sort((a, b) => ascending(a.dataSource, b.dataSource)) }
}

/** The datasource of a configuration that may be invalid otherwise. */
function nameOfCompactionConfig(entry: unknown): string | undefined {
  const name: unknown = isJsonObject(entry) ? entry.dataSource : undefined
  return typeof name === 'string' ? shorten(name) : undefined
}

function readConfig(
  document: unknown,
  problems: SnapshotProblems,
  unreadable: UnreadablePart[],
): CoordinatorConfig {
  const { file } = documents.config
  const { part } = unreadableDocuments.config
  const parse = (fields: Record<string, unknown>) => readConfigChange(fields, '')
  const fields = withoutNulls(readJsonObject(document))
  const readable = readableFields(fields, parse, { problems, unreadable, file, part })
  return readCoordinatorConfig({ value: JSON.stringify(parse(readable)) })
}

interface FieldsOf {
  readonly problems: SnapshotProblems
  readonly unreadable: UnreadablePart[]
  readonly file: string
  /** The configuration that has the fields. */
  readonly part: string
}

/** Returns the fields that are readable by themselves; records the others. Their values do not depend on each other. */
function readableFields(
  fields: Readonly<Record<string, unknown>>,
  parse: (fields: Record<string, unknown>) => unknown,
  { problems, unreadable, file, part }: FieldsOf,
): Record<string, unknown> {
  const skipped: string[] = []
  const readable = Object.entries(fields).filter(([name, value]) => {
    const isReadable = attempt(problems, file, () => [parse({ [name]: value })]) !== undefined
    if (!isReadable) skipped.push(shorten(name))
    return isReadable
  })
  if (skipped.length > 0)
    unreadable.push({
      part,
      effect: `${skipped.length === 1 ? 'field' : 'fields'} ${listOf(skipped)} left out, so the defaults apply to ${skipped.length === 1 ? 'it' : 'them'}; the other fields are kept`,
    })
  return Object.fromEntries(readable)
}

const withoutNulls = (object: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))

const byFirst = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => ascending(a, b)
