import type { Rest, SeenSegment } from '../history.ts'
import { intervalOf, type ScheduledRule, tiers } from '../schedule.ts'
import { type Done, isPossiblyDone, ofKind, ofType, type Story } from './story.ts'

/** Max time that a decision may take effect after the rules behind it have changed. */
const decisionMs = 10_000

const firstRuleFor = (rules: readonly ScheduledRule[], day: string): ScheduledRule | undefined =>
  rules.find((rule) => rule.type === 'loadForever' || rule.interval === intervalOf(day))

/** Segments change state, and their files are deleted, only for a reason. */
export function segmentsStay(story: Story): string[] {
  const found: string[] = []
  const seen = new Map<string, { segment: SeenSegment; from: number }>()
  const newest = new Map<string, string>()
  const marks = ofKind(story, 'mark').filter(isPossiblyDone)
  const kills = ofKind(story, 'kill').filter(isPossiblyDone)
  const rules = ofKind(story, 'setRules').filter(isPossiblyDone)

  /** Whether a request that was sent by `until` may have taken effect after `from`. */
  const wasAt = ({ at, answeredAt }: Done, from: number, until: number) => at < until && answeredAt >= from
  const wasMarked = ({ dataSource, day }: SeenSegment, used: boolean, from: number, until: number) =>
    marks.some(
      (mark) =>
        mark.work.dataSource === dataSource &&
        mark.work.day === day &&
        mark.work.used === used &&
        wasAt(mark, from, until),
    )
  const wasDropped = ({ dataSource, day }: SeenSegment, from: number, until: number) =>
    rules.some(
      (write) =>
        write.work.dataSource === dataSource &&
        firstRuleFor(write.work.rules, day)?.type === 'dropByInterval' &&
        write.at < until &&
        !rules.some(
          (later) =>
            later.work.dataSource === dataSource &&
            later.outcome === 'done' &&
            later.at > write.answeredAt &&
            later.answeredAt < from - decisionMs,
        ),
    )

  let lastLook = 0
  for (const { changed, from, until } of ofType(story.entries, 'segments')) {
    for (const { dataSource, day, version } of changed) {
      const key = `${dataSource} ${day}`
      const known = newest.get(key)
      if (known === undefined || version > known) newest.set(key, version)
    }
    for (const segment of changed) {
      const before = seen.get(segment.id)
      seen.set(segment.id, { segment, from })
      // Nothing changed since the last look, so the previous state was last confirmed then.
      const since = before ? lastLook : 0
      const was = before?.segment.state ?? (segment.task === null ? undefined : 'used')
      const isHidden = (newest.get(`${segment.dataSource} ${segment.day}`) ?? '') > segment.version
      const violation = (what: string) =>
        found.push(`Segment [${segment.id}] ${what} between ${Math.round(since)} and ${Math.round(until)} ms`)
      if (was === 'used' && segment.state !== 'used') {
        const hasReason =
          isHidden || wasMarked(segment, false, since, until) || wasDropped(segment, since, until)
        if (!hasReason) violation(`became ${segment.state} without a reason`)
      }
      if (was === 'unused' && segment.state === 'used' && !wasMarked(segment, true, since, until))
        violation('became used without a request')
      if (segment.state === 'gone') {
        const wasRequested = kills.some(
          ({ work, at }) => work.dataSource === segment.dataSource && work.day === segment.day && at < until,
        )
        if (!wasRequested) violation('was erased without a request')
      }
    }
    lastLook = from
  }
  return [...found, ...missingFiles(story)]
}

function missingFiles(story: Story): string[] {
  const found: string[] = []
  for (const { missing, from } of ofType(story.entries, 'held'))
    for (const id of missing) found.push(`Segment [${id}] was in no cache after ${Math.round(from)} ms`)
  for (const { id, file } of story.rest?.segments ?? [])
    if (file !== 'sound') found.push(`The file of segment [${id}] in deep storage is ${file}`)
  return found
}

/** Replicas by tier that the final rules require; undefined if no rule applies or the first one drops. */
function requiredCopies(
  rest: Pick<Rest, 'rules'>,
  { dataSource, day }: SeenSegment,
): Readonly<Record<string, number>> | undefined {
  const rules = [...(rest.rules[dataSource] ?? []), ...(rest.rules._default ?? [])] as ScheduledRule[]
  const first = firstRuleFor(rules, day)
  return first === undefined || first.type === 'dropByInterval' ? undefined : first.tieredReplicants
}

/** Segments, where they are served, and what the rules require. */
export interface FinalCopies extends Pick<Rest, 'rules' | 'served'> {
  readonly segments: readonly SeenSegment[]
}

/**
 * Returns what does not match the rules while the cluster is idle. A run also uses it to detect that the
 * cluster is done.
 */
export function wrongCopies(rest: FinalCopies): string[] {
  const found: string[] = []
  const newest = new Map<string, string>()
  for (const { dataSource, day, version, state } of rest.segments) {
    const key = `${dataSource} ${day}`
    if (state === 'used' && version > (newest.get(key) ?? '')) newest.set(key, version)
  }
  for (const segment of rest.segments) {
    const wantedCopies = segment.state === 'used' ? requiredCopies(rest, segment) : {}
    const isHidden = (newest.get(`${segment.dataSource} ${segment.day}`) ?? '') > segment.version
    if (wantedCopies === undefined || (isHidden && segment.state === 'used')) {
      found.push(`Segment [${segment.id}] is used, but should not be`)
      continue
    }
    for (const [tier, servers] of Object.entries(tiers)) {
      const wanted = Math.min(wantedCopies[tier] ?? 0, servers.length)
      const holders = servers.filter((server) => rest.served[server]?.includes(segment.id))
      if (holders.length !== wanted)
        found.push(
          `Segment [${segment.id}] has ${holders.length} replicas in tier [${tier}], expected ${wanted}`,
        )
    }
  }
  const known = new Set(rest.segments.map(({ id }) => id))
  for (const [server, ids] of Object.entries(rest.served))
    for (const id of ids)
      if (!known.has(id)) found.push(`[${server}] serves [${id}], which is not a known segment`)
  return found
}

/** The cluster became idle with the replicas that the rules require. */
export function copiesAsRequired({ entries, rest }: Story): string[] {
  const problem = ofType(entries, 'rest').at(-1)?.problem
  return [
    ...(problem ? [`The cluster did not become idle: ${problem}`] : []),
    ...(rest ? wrongCopies(rest) : []),
  ]
}
