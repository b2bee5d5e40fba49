import type { SnapshotDocuments } from './snapshot-documents.ts'
import { documents } from './snapshot-source.ts'
import type { StagedSegments } from './stage-segments.ts'

const mostTold = 5

/** What people should know of a snapshot that can be read, because a cluster made of it could not do what it says. */
export function snapshotNotices(
  source: string,
  { servers, rules, missing }: SnapshotDocuments,
  { segments, sizeBytes }: Pick<StagedSegments, 'segments' | 'sizeBytes'>,
): string[] {
  const notices = missing.map(
    (name) => `[${source}] has nothing to read for [${documents[name].file}]: defaults stand for it`,
  )
  if (segments === 0)
    notices.push(`[${source}] shows no used segment: there is none, or the user of --user may not see any`)
  const tiers = new Set(servers.map(({ tier }) => tier))
  const named = [...rules.values()].flat().flatMap((rule) => {
    return 'tieredReplicants' in rule ? Object.entries(rule.tieredReplicants) : []
  })
  const empty = new Set(
    named.filter(([tier, copies]) => copies > 0 && !tiers.has(tier)).map(([tier]) => tier),
  )
  if (empty.size > 0) notices.push(`Rules load into tiers without servers: ${tell([...empty].sort())}`)
  const full = servers.filter(({ maxSize }) => maxSize === 0).map(({ host }) => host)
  if (full.length > 0) notices.push(`Servers have a maxSize of 0 and take no segments: ${tell(full)}`)
  const roomBytes = servers.reduce((sum, { maxSize }) => sum + maxSize, 0)
  if (servers.length > 0 && sizeBytes > roomBytes)
    notices.push(
      `The used segments have [${sizeBytes}] bytes, and all servers together take [${roomBytes}]: not all can be loaded`,
    )
  return notices
}

function tell(names: readonly string[]): string {
  const more = names.length - mostTold
  return `[${names.slice(0, mostTold).join('], [')}]${more > 0 ? ` and ${more} more` : ''}`
}
