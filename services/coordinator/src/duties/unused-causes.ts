import { overshadowingVersions, type SegmentTable } from '@svc/domain/inventory'
import type { UnusedSegments } from '@svc/domain/retention'
import { defaultRulesName, formatRule, ruleInList } from '@svc/domain/rules'
import type { RulesSnapshot, UnusedCause } from '@svc/shared/postgres'

/** A segment to mark as unused, and why. */
export interface UnusedSegment {
  readonly id: string
  readonly dataSource: string
  readonly cause: UnusedCause
}

/** Returns the segments that a run with these rules marks as unused, each with its cause. */
export function withCauses(
  table: SegmentTable,
  { rows, reason }: UnusedSegments,
  snapshot: RulesSnapshot,
): UnusedSegment[] {
  const groupOf = (row: number): number => table.groupOf[row]!
  const causeOf =
    reason === 'overshadowed' ? overshadowedCauses(table, rows.map(groupOf)) : dropRuleCauses(table, snapshot)
  return rows.map((row) => ({
    id: table.idOf(row),
    dataSource: table.datasourceNames[table.datasourceOf[groupOf(row)]!]!,
    cause: causeOf(groupOf(row)),
  }))
}

function overshadowedCauses(table: SegmentTable, groups: readonly number[]): (group: number) => UnusedCause {
  const versions = overshadowingVersions(table, [...new Set(groups)])
  return (group) => ({ kind: 'overshadowed', byVersion: versions.get(group) ?? '' })
}

function dropRuleCauses(
  table: SegmentTable,
  { rules, auditIds }: RulesSnapshot,
): (group: number) => UnusedCause {
  const causes = new Map<number, Map<number, UnusedCause>>()
  return (group) => {
    const datasource = table.datasourceOf[group]!
    const number = table.ruleOf[group]!
    let ofDatasource = causes.get(datasource)
    if (ofDatasource === undefined) {
      ofDatasource = new Map()
      causes.set(datasource, ofDatasource)
    }
    let cause = ofDatasource.get(number)
    if (cause === undefined) {
      const name = table.datasourceNames[datasource]!
      cause = {
        kind: 'dropRule',
        rule: JSON.stringify(formatRule(ruleInList(rules, name, number))),
        // The default rules apply after those of the datasource.
        isDefaultRule: number >= (rules.get(name)?.length ?? 0),
        rulesId: auditIds.get(name) ?? 0,
        defaultRulesId: auditIds.get(defaultRulesName) ?? 0,
      }
      ofDatasource.set(number, cause)
    }
    return cause
  }
}
