import { defaultRulesName, parseRules, type RulesByName } from '@svc/domain/rules'
import { type AuditEntry, saveAudit } from './audit.ts'
import { type Database, type Queries, sql } from './database.ts'

/** The notification channel for rule changes. */
export const rulesChannel = 'svc_rules'

/** Returns the rules of all datasources. */
export async function loadRules(queries: Queries): Promise<RulesByName> {
  const rows = await queries.query<{ datasource: string; rules: string }>(
    sql`SELECT datasource, rules FROM rules ORDER BY datasource`,
  )
  return new Map(rows.map(({ datasource, rules }) => [datasource, parseRules(JSON.parse(rules))]))
}

/** Stores the rules of a datasource as JSON text, with an audit entry, in one transaction. */
export async function saveRules(
  database: Database,
  dataSource: string,
  rules: string,
  audit: Omit<AuditEntry, 'type' | 'key' | 'payload'>,
  now: number,
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.query(sql`
      INSERT INTO rules (datasource, rules) VALUES (${dataSource}, ${rules})
      ON CONFLICT (datasource) DO UPDATE SET rules = excluded.rules`)
    await saveAudit(transaction, { ...audit, type: 'rules', key: dataSource, payload: rules }, now)
    await transaction.query(sql`SELECT pg_notify(${rulesChannel}, '')`)
  })
}

/** Stores the default rules of the cluster if there are none yet. */
export async function ensureDefaultRules(queries: Queries, rules: string): Promise<void> {
  await queries.query(sql`
    INSERT INTO rules (datasource, rules) VALUES (${defaultRulesName}, ${rules}) ON CONFLICT DO NOTHING`)
}
