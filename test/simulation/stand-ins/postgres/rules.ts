import { conflict, tooLarge } from '@svc/domain/failure'
import { defaultRulesName, type Rule } from '@svc/domain/rules'
import * as real from '@svc/shared/postgres'
import { statement } from './database.ts'
import type { StoreView } from './store.ts'

/** Writes an audit entry, and returns its ID. */
function addAudit(view: StoreView, entry: real.AuditEntry, now: number): number {
  const id = view.nextId()
  view.put(view.tables.audit, String(id), { replaced: null, ...entry, id, createdAt: now })
  return id
}

export const saveAudit: typeof real.saveAudit = (queries, entry, now) =>
  statement(queries, (view) => addAudit(view, entry, now))

// As in the product.
const maxEntries = 10_000

export const loadAuditInPages: typeof real.loadAuditInPages = async function* (
  queries,
  { type, key, keys, count, interval, withReplaced = false },
) {
  yield await statement(queries, (view) => {
    const found = view
      .rows(view.tables.audit)
      .filter(
        (entry) =>
          entry.type === type &&
          (key === undefined ? (keys?.includes(entry.key) ?? true) : entry.key === key) &&
          (interval === undefined || (entry.createdAt >= interval.start && entry.createdAt < interval.end)),
      )
      .sort((a, b) => a.id - b.id)
      .map((entry) => (withReplaced ? entry : { ...entry, replaced: null }))
    if (count === undefined && found.length > maxEntries) throw tooLarge('The history is too long')
    return count === undefined ? found : found.reverse().slice(0, count)
  })
}

export const loadAuditKeys: typeof real.loadAuditKeys = (queries, type) =>
  statement(queries, (view) => {
    const ofType = view.rows(view.tables.audit).filter((entry) => entry.type === type)
    return [...new Set(ofType.map(({ key }) => key))].sort()
  })

/** Returns rows as text; `parsed` keeps lists that have not changed, as in the product. */
function parseAll(
  rows: readonly (readonly [string, string])[],
  parsed: real.ParsedRules,
): Map<string, readonly Rule[]> {
  const lists = new Map<string, readonly Rule[]>()
  for (const [name, text] of rows) {
    const parsing = parsed.parse(name, text)
    let step = parsing.next()
    while (!step.done) step = parsing.next()
    lists.set(name, step.value)
  }
  return lists
}

export const loadRulesSnapshot: typeof real.loadRulesSnapshot = async (queries, parsed) => {
  const rows = await statement(queries, (view) =>
    view.entries(view.tables.rules).sort(([a], [b]) => (a < b ? -1 : 1)),
  )
  const rules = parseAll(
    rows.map(([name, { rules: text }]) => [name, text] as const),
    parsed,
  )
  parsed.keepOnly(new Set(rules.keys()))
  const auditIds = rows.flatMap(([name, { auditId }]) => (auditId === null ? [] : [[name, auditId] as const]))
  return { rules, auditIds: new Map(auditIds) }
}

export const loadRules: typeof real.loadRules = async (queries, parsed = new real.ParsedRules()) =>
  (await loadRulesSnapshot(queries, parsed)).rules

export const loadRulesOf: typeof real.loadRulesOf = async (queries, dataSource, parsed) => {
  const rows = await statement(queries, (view) =>
    [dataSource, defaultRulesName].flatMap((name) => {
      const row = view.get(view.tables.rules, name)
      return row === undefined ? [] : [[name, row.rules] as const]
    }),
  )
  return parseAll(rows, parsed)
}

export const lockRules: typeof real.lockRules = (transaction, names) =>
  statement(transaction, (view) => {
    const ids = new Map<string, number>()
    for (const name of [...names].sort()) {
      if (view.get(view.tables.rules, name) === undefined) continue
      view.share(view.tables.rules, name)
      const auditId = view.get(view.tables.rules, name)?.auditId
      if (auditId !== null && auditId !== undefined) ids.set(name, auditId)
    }
    return ids
  })

export const saveRules: typeof real.saveRules = async (
  database,
  dataSource,
  rules,
  audit,
  now,
  checkVersion = () => undefined,
) => {
  await database.transaction(async (transaction) => {
    await statement(transaction, (view) => view.lock(`rules of ${dataSource}`))
    const stored = await statement(transaction, (view) => view.get(view.tables.rules, dataSource))
    checkVersion(stored?.auditId ?? 0)
    const entry = {
      ...audit,
      type: 'rules',
      key: dataSource,
      payload: rules,
      replaced: stored?.rules ?? '[]',
    }
    const auditId = await saveAudit(transaction, entry, now)
    await statement(transaction, (view) => view.put(view.tables.rules, dataSource, { rules, auditId }))
    await statement(transaction, (view) => view.notify(real.rulesChannel))
  })
}

export const ensureDefaultRules: typeof real.ensureDefaultRules = (queries, rules) =>
  statement(queries, (view) => {
    if (view.claim(view.tables.rules, defaultRulesName) === undefined)
      view.put(view.tables.rules, defaultRulesName, { rules, auditId: null })
  })

export const loadConfig: typeof real.loadConfig = (queries, name) =>
  statement(queries, (view) => view.get(view.tables.configs, name))

export const saveConfig: typeof real.saveConfig = async (database, name, value, readRevision, audit, now) => {
  await database.transaction(async (transaction) => {
    const isSaved = await statement(transaction, (view) => {
      const stored = view.claim(view.tables.configs, name)
      if (stored !== undefined && stored.revision !== readRevision) return false
      view.put(view.tables.configs, name, { value, revision: (stored?.revision ?? 0) + 1 })
      return true
    })
    if (!isSaved) throw conflict(`Another request has changed configuration [${name}] in the meantime`)
    await saveAudit(transaction, { ...audit, type: name, key: name, payload: value }, now)
  })
}
