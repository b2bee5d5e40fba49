import { describeWantedCopies, parseRules, type RuleJson } from '@svc/domain/rules'
import type { Table } from '../terminal/index.ts'
import { inOneLine } from '../terminal/index.ts'

/** A rule change as returned by the coordinator. */
export interface RulesChange {
  /** Druid does not return it. */
  readonly id?: number
  readonly key: string
  readonly auditInfo: {
    readonly author: string
    readonly identity: string
    readonly comment: string
  }
  /** The rules as JSON. */
  readonly payload: string
  /** The rules before the change as JSON; null or undefined if they are unknown. */
  readonly replaced?: string | null
  readonly auditTime: string
}

/** One row per rule, in order of evaluation, numbered from 0 as in messages of the cluster. */
export function rulesTable(rulesByDatasource: Readonly<Record<string, readonly RuleJson[]>>): Table {
  return {
    header: ['datasource', '#', 'rule', 'applies to', 'replicas'],
    rows: Object.entries(rulesByDatasource).flatMap(([dataSource, rules]) =>
      rules.map((rule, index) => [dataSource, String(index), rule.type, appliesTo(rule), copiesOf(rule)]),
    ),
  }
}

/** One row per change, in the given order. */
export function historyTable(changes: readonly RulesChange[]): Table {
  return {
    header: ['ID', 'time', 'datasource', 'author', 'user', 'comment', 'rules'],
    rows: changes.map(({ id = '', key, auditInfo, payload, auditTime }) => [
      String(id),
      auditTime,
      key,
      inOneLine(auditInfo.author),
      inOneLine(auditInfo.identity),
      inOneLine(auditInfo.comment),
      summaryOf(payload),
    ]),
  }
}

/** A rule in words, for example `loadByPeriod, the last P1M and the future: hot 2`. */
export function describeRule(rule: RuleJson): string {
  return `${rule.type}, ${appliesTo(rule)}: ${copiesOf(rule)}`
}

function appliesTo({ period, interval, includeFuture }: RuleJson): string {
  if (typeof interval === 'string') return interval.replaceAll('T00:00:00.000Z', '')
  if (typeof period !== 'string') return 'everything'
  // Every rule for the last period says whether it includes the future.
  if (includeFuture === undefined) return `older than ${period}`
  return includeFuture === false ? `the last ${period}` : `the last ${period} and the future`
}

function copiesOf(answered: RuleJson): string {
  const [rule] = parseRules([answered])
  const action = rule && describeWantedCopies(rule).action
  if (action === 'drop') return 'none'
  if (action === 'broadcast') return 'on every server'
  const tiers = Object.entries((answered.tieredReplicants ?? {}) as Record<string, number>)
  if (tiers.length === 0) return 'in deep storage only'
  return tiers.map(([tier, copies]) => `${tier} ${copies}`).join(', ')
}

/** The rule types of a list, for example `loadByPeriod, dropForever`. */
function summaryOf(payload: string): string {
  const rules = JSON.parse(payload) as readonly RuleJson[]
  return rules.length === 0 ? 'none' : rules.map(({ type }) => type).join(', ')
}
