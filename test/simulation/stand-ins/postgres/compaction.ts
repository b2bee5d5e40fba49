import { createHash } from 'node:crypto'
import {
  assertRunnableBy,
  type CompactionConfig,
  canonicalText,
  clusterConfigOf,
  formatClusterConfig,
  formatCompactionConfig,
  parseCompactionConfig,
} from '@svc/domain/compaction'
import type * as real from '@svc/shared/postgres'
import { statement } from './database.ts'
import { saveAudit } from './rules.ts'

const clusterConfigName = 'compaction.cluster'
const parse = (text: string | undefined): CompactionConfig | undefined =>
  text === undefined ? undefined : parseCompactionConfig(JSON.parse(text))

export const loadClusterCompactionConfig: typeof real.loadClusterCompactionConfig = async (queries) =>
  clusterConfigOf(
    (await statement(queries, (view) => view.get(view.tables.configs, clusterConfigName)))?.value,
  )

/** Runs changes of the compaction configuration one after the other. */
function change<Result>(
  database: real.Database,
  run: (transaction: real.Transaction) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (transaction) => {
    await statement(transaction, (view) => view.lock('compaction configuration'))
    await loadClusterCompactionConfig(transaction)
    return await run(transaction)
  })
}

export const changeClusterCompactionConfig: typeof real.changeClusterCompactionConfig = (
  database,
  next,
  author,
  now,
) =>
  change(database, async (transaction) => {
    const present = await loadClusterCompactionConfig(transaction)
    const value = JSON.stringify(formatClusterConfig(next(present)))
    await statement(transaction, (view) => {
      const stored = view.claim(view.tables.configs, clusterConfigName)
      view.put(view.tables.configs, clusterConfigName, { value, revision: (stored?.revision ?? 0) + 1 })
    })
    await saveAudit(
      transaction,
      { ...author, type: clusterConfigName, key: clusterConfigName, payload: value },
      now,
    )
  })

export const loadCompactionConfigs: typeof real.loadCompactionConfigs = async (queries) => {
  const rows = await statement(queries, (view) => view.entries(view.tables.compactionConfigs))
  return rows.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => parse(text)!)
}

export const loadCompactionConfig: typeof real.loadCompactionConfig = async (queries, dataSource) =>
  parse(await statement(queries, (view) => view.get(view.tables.compactionConfigs, dataSource)))

const configAudit = 'compaction.config'

export const saveCompactionConfig: typeof real.saveCompactionConfig = (
  database,
  config,
  author,
  now,
  checkReplaced,
) =>
  change(database, async (transaction) => {
    checkReplaced?.(await loadCompactionConfig(transaction, config.dataSource))
    assertRunnableBy(config, { engine: 'native', useSupervisors: false })
    const { dataSource } = config
    const payload = JSON.stringify(formatCompactionConfig(config))
    await statement(transaction, (view) => view.put(view.tables.compactionConfigs, dataSource, payload))
    await saveAudit(transaction, { ...author, type: configAudit, key: dataSource, payload }, now)
  })

export const deleteCompactionConfig: typeof real.deleteCompactionConfig = (
  database,
  dataSource,
  author,
  now,
  checkReplaced,
) =>
  change(database, async (transaction) => {
    checkReplaced?.(await loadCompactionConfig(transaction, dataSource))
    const isRemoved = await statement(transaction, (view) => {
      const { compactionConfigs } = view.tables
      if (view.get(compactionConfigs, dataSource) === undefined) return false
      view.remove(compactionConfigs, dataSource)
      return true
    })
    if (isRemoved)
      await saveAudit(transaction, { ...author, type: configAudit, key: dataSource, payload: 'null' }, now)
    return isRemoved
  })

export const loadCompactionSupervisors: typeof real.loadCompactionSupervisors = (queries) =>
  statement(queries, () => [])

export const loadCompactionStates: typeof real.loadCompactionStates = (queries, ids) =>
  statement(queries, (view) => {
    const found = view.rows(view.tables.compactionStates).filter(({ id }) => ids?.includes(id) ?? true)
    return new Map(found.map(({ id, state }) => [id, state]))
  })

export const saveCompactionState: typeof real.saveCompactionState = (transaction, { dataSource, state }) => {
  const fingerprint = createHash('sha256').update(canonicalText({ dataSource, state })).digest('hex')
  return statement(transaction, (view) => {
    const { compactionStates } = view.tables
    const known = view.claim(compactionStates, fingerprint)
    const id = known?.id ?? view.nextId()
    view.put(compactionStates, fingerprint, { id, state: JSON.parse(JSON.stringify(state)) })
    return { id, fingerprint }
  })
}
