import { countOf, formatBytes, listOf } from '../terminal/index.ts'
import type { SnapshotDocuments } from './snapshot-documents.ts'
import { documents } from './snapshot-source.ts'
import type { RemainingSegments } from './stage-segments.ts'

/** Notices about a readable snapshot that a cluster could not fully load. */
export function snapshotNotices(
  source: string,
  { servers, rules, missing }: SnapshotDocuments,
  { segments, sizeBytes, nowUnused }: Omit<RemainingSegments, 'overshadowed'>,
): string[] {
  const notices = missing.map((name) => `[${source}] has no [${documents[name].file}]: using the defaults`)
  const unused = [...nowUnused.values()].reduce((sum, count) => sum + count, 0)
  if (unused > 0)
    notices.push(
      `[${source}] lists ${countOf(unused, 'segment')} both as used and as unused: they count as unused, because the list of unused segments is newer`,
    )
  if (segments === 0)
    notices.push(
      `[${source}] lists no used segments: either it has none, or the user given with --user has no permission to read them`,
    )
  const tiers = new Set(servers.map(({ tier }) => tier))
  const named = [...rules.values()].flat().flatMap((rule) => {
    return 'tieredReplicants' in rule ? Object.entries(rule.tieredReplicants) : []
  })
  const empty = new Set(
    named.filter(([tier, copies]) => copies > 0 && !tiers.has(tier)).map(([tier]) => tier),
  )
  if (empty.size > 0) notices.push(`Rules reference tiers without servers: ${listOf([...empty].sort())}`)
  const full = servers.filter(({ maxSize }) => maxSize === 0).map(({ host }) => host)
  if (full.length > 0) notices.push(`Servers with a maxSize of 0 load no segments: ${listOf(full)}`)
  const capacityBytes = servers.reduce((sum, { maxSize }) => sum + maxSize, 0)
  if (servers.length > 0 && sizeBytes > capacityBytes)
    notices.push(
      `Not enough capacity for all segments: ${formatBytes(sizeBytes)} needed, but the servers have only ${formatBytes(capacityBytes)} in total`,
    )
  return notices
}
