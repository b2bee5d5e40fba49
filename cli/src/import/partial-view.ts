import { defaultRulesName, type Rule } from '@svc/domain/rules'
import type { Seen, SourceCounts } from '../snapshot/index.ts'
import { countOf, formatBytes, listOf } from '../terminal/index.ts'
import type { Placement } from './place-segments.ts'

/** What an import read, to compare with what its source counts. */
export interface ImportedParts {
  /** Number of listed used segments by datasource. */
  readonly segments: ReadonlyMap<string, number>
  readonly rules: ReadonlyMap<string, readonly Rule[]>
  readonly counts: Seen<SourceCounts>
  readonly placement: Placement | undefined
}

/** Reasons to believe that the source has segments that the login cannot see; empty if there are none. */
export function signsOfPartialView({ segments, rules, counts, placement }: ImportedParts): string[] {
  const signs: string[] = []
  const isHidden = (dataSource: string): boolean => !segments.has(dataSource)
  const hidden = 'value' in counts ? counts.value.datasourcesWithUsedSegments.filter(isHidden) : []
  if (hidden.length > 0)
    signs.push(
      `The load status of the source includes datasources without visible segments: ${listOf(hidden)}`,
    )
  if (placement) {
    // A datasource whose segments were all marked as unused has replicas until its servers drop them.
    const isGone = (dataSource: string) => 'value' in counts && !hidden.includes(dataSource)
    const unlisted = [...placement.unlisted].filter(([name]) => isHidden(name) && !isGone(name))
    const replicas = unlisted.reduce((sum, [, count]) => sum + count, 0)
    if (replicas > 0)
      signs.push(
        `Servers have ${countOf(replicas, 'replica')} of segments of ${listOf(unlisted.map(([name]) => name))} that the source did not list`,
      )
  }
  if ('value' in counts) signs.push(...signsOfCounts(counts.value, segments, placement))
  const withRules = [...rules]
    .filter(([name, list]) => name !== defaultRulesName && list.length > 0 && isHidden(name))
    .map(([name]) => name)
  // Rules of a datasource without data are common. They are a sign if nothing else says that there is no data.
  if ('unseen' in counts && withRules.length > 0)
    signs.push(`There are rules for datasources without visible segments: ${listOf(withRules)}`)
  return signs
}

function signsOfCounts(
  { servedSegments, usedBytes }: SourceCounts,
  segments: ReadonlyMap<string, number>,
  placement: Placement | undefined,
): string[] {
  if (!placement) return []
  const signs: string[] = []
  for (const [dataSource, served] of Object.entries(servedSegments)) {
    const listed = segments.get(dataSource) ?? 0
    // Servers keep segments that were marked as unused for a while. These are among the unlisted replicas.
    if (listed > 0 && served > listed + (placement.unlisted.get(dataSource) ?? 0))
      signs.push(
        `Servers have [${served}] segments of datasource [${dataSource}], but only [${listed}] are listed`,
      )
  }
  const missing = Object.entries(usedBytes)
    .filter(([server]) => !placement.serversWithUnlisted.has(server))
    .map(([server, bytes]) => [server, bytes - (placement.bytesOfServer.get(server) ?? 0)] as const)
    .filter(([, bytes]) => bytes > 0)
  if (missing.length > 0) {
    const bytes = missing.reduce((sum, [, one]) => sum + one, 0)
    signs.push(
      `Servers use ${formatBytes(bytes)} more space than their listed segments need: ${listOf(missing.map(([server]) => server))}`,
    )
  }
  return signs
}
