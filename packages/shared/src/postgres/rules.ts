import { defaultRulesName, parseRulesInSlices, type Rule, type RulesByName } from '@svc/domain/rules'
import { finishInSlices } from '../slices/index.ts'
import { type AuditEntry, saveAudit } from './audit.ts'
import { type Database, type Queries, sql } from './database.ts'

/** The notification channel for rule changes. */
export const rulesChannel = 'svc_rules'

/** A cache of parsed rule lists by datasource. A list that has not changed is the same object on every read. */
export class ParsedRules {
  private readonly byName = new Map<string, { readonly text: string; readonly rules: readonly Rule[] }>()

  /** Removes datasources that no longer have rules. */
  keepOnly(names: ReadonlySet<string>): void {
    for (const name of this.byName.keys()) if (!names.has(name)) this.byName.delete(name)
  }

  /** Returns the rules of a datasource. Parses them only if the text has changed since the last call. Yields regularly. */
  *parse(dataSource: string, text: string): Generator<undefined, readonly Rule[]> {
    const known = this.find(dataSource, text)
    if (known) return known
    const parsed = yield* parseRulesInSlices(JSON.parse(text))
    // Another read may have parsed the same text in a pause.
    const rules = this.find(dataSource, text) ?? parsed
    this.byName.set(dataSource, { text, rules })
    return rules
  }

  private find(dataSource: string, text: string): readonly Rule[] | undefined {
    const known = this.byName.get(dataSource)
    return known?.text === text ? known.rules : undefined
  }
}

interface StoredRules {
  readonly datasource: string
  readonly rules: string
  readonly auditId: number | null
}

/** Returns the rules of some rows by name. Yields regularly. */
function* parseAll(
  rows: readonly StoredRules[],
  parsed: ParsedRules,
): Generator<undefined, Map<string, readonly Rule[]>> {
  const lists = new Map<string, readonly Rule[]>()
  for (const { datasource, rules } of rows) {
    lists.set(datasource, yield* parsed.parse(datasource, rules))
    yield
  }
  return lists
}

/** All rules at one time. */
export interface RulesSnapshot {
  readonly rules: RulesByName
  /** The audit IDs of the last changes, by name; lists without a recorded change are left out. */
  readonly auditIds: ReadonlyMap<string, number>
}

/** Returns all rules. Callers can keep `parsed` as a cache from one read to the next. */
export async function loadRules(queries: Queries, parsed = new ParsedRules()): Promise<RulesByName> {
  return (await loadRulesSnapshot(queries, parsed)).rules
}

/** Returns all rules with the audit IDs of their last changes; see `loadRules`. */
export async function loadRulesSnapshot(queries: Queries, parsed: ParsedRules): Promise<RulesSnapshot> {
  const rows = await queries.query<StoredRules>(
    sql`SELECT datasource, rules, audit_id AS "auditId" FROM rules ORDER BY datasource`,
  )
  const rules = await finishInSlices(parseAll(rows, parsed))
  parsed.keepOnly(new Set(rules.keys()))
  const auditIds = rows.flatMap(({ datasource, auditId }) =>
    auditId === null ? [] : [[datasource, auditId] as const],
  )
  return { rules, auditIds: new Map(auditIds) }
}

/**
 * Returns the audit IDs of the last changes to these lists of rules, by name, and delays new changes until the
 * transaction ends.
 */
export async function lockRules(
  transaction: Queries,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await transaction.query<StoredRules>(sql`
    SELECT datasource, audit_id AS "auditId" FROM rules
    WHERE datasource = ANY(${names}) AND audit_id IS NOT NULL ORDER BY datasource FOR SHARE`)
  return new Map(rows.map(({ datasource, auditId }) => [datasource, auditId as number]))
}

/** Returns the rules of one datasource, and the default rules of the cluster. */
export async function loadRulesOf(
  queries: Queries,
  dataSource: string,
  parsed: ParsedRules,
): Promise<RulesByName> {
  const rows = await queries.query<StoredRules>(sql`
    SELECT datasource, rules FROM rules WHERE datasource IN (${dataSource}, ${defaultRulesName})`)
  return await finishInSlices(parseAll(rows, parsed))
}

/**
 * Stores the rules of a datasource as JSON text, with an audit entry, in one transaction. `checkVersion` gets the audit ID
 * of the change that stored the present rules (0 if none is recorded), and prevents the change if it throws.
 */
export async function saveRules(
  database: Database,
  dataSource: string,
  rules: string,
  audit: Omit<AuditEntry, 'type' | 'key' | 'payload'>,
  now: number,
  checkVersion: (auditId: number) => void = () => undefined,
): Promise<void> {
  await database.transaction(async (transaction) => {
    // One change to a list at a time, so that each entry has what it replaced.
    await transaction.query(sql`SELECT pg_advisory_xact_lock(hashtextextended(${dataSource}, 4))`)
    const [stored] = await transaction.query<Pick<StoredRules, 'rules' | 'auditId'>>(
      sql`SELECT rules, audit_id AS "auditId" FROM rules WHERE datasource = ${dataSource}`,
    )
    checkVersion(stored?.auditId ?? 0)
    const replaced = stored?.rules ?? '[]'
    const entry = { ...audit, type: 'rules', key: dataSource, payload: rules, replaced }
    const auditId = await saveAudit(transaction, entry, now)
    await transaction.query(sql`
      INSERT INTO rules (datasource, rules, audit_id) VALUES (${dataSource}, ${rules}, ${auditId})
      ON CONFLICT (datasource) DO UPDATE SET rules = excluded.rules, audit_id = excluded.audit_id`)
    await transaction.query(sql`SELECT pg_notify(${rulesChannel}, '')`)
  })
}

/** Stores the default rules of the cluster if there are none yet. */
export async function ensureDefaultRules(queries: Queries, rules: string): Promise<void> {
  await queries.query(sql`
    INSERT INTO rules (datasource, rules) VALUES (${defaultRulesName}, ${rules}) ON CONFLICT DO NOTHING`)
}
