import { type Failure, notFound } from '@svc/domain/failure'
import { parseSegmentId, segmentId } from '@svc/domain/segment'
import { countOf } from '@svc/domain/text'
import { formatInstant } from '@svc/domain/time'
import {
  type DropRuleCause,
  isImported,
  loadPartitionFloors,
  loadRulesOfKilled,
  loadSegmentKills,
  type RulesInForce,
  type SegmentKill,
} from '@svc/shared/postgres'
import type { ServiceContext } from '@svc/shared/service'

/**
 * Returns the error for a segment that is not in the metadata store. Of the deleted segments of an interval and version, only
 * the highest partition number is kept, and partition numbers may have gaps.
 */
export async function unknownSegment(
  database: ServiceContext['database'],
  dataSource: string,
  id: string,
): Promise<Failure> {
  const failed = (why: string) =>
    notFound(`Datasource [${dataSource}] has no segment with the ID [${id}]: ${why}`)
  const key = parseSegmentId(dataSource, id)
  if (key === undefined)
    return failed(
      `expected an ID such as [${segmentId({ ...exampleKey, dataSource })}], which ends with [_1] or another partition number unless it is the first partition`,
    )
  const deleted = (await loadPartitionFloors(database, dataSource, key.interval)).find(
    ({ interval, version }) =>
      interval.start === key.interval.start && interval.end === key.interval.end && version === key.version,
  )?.partitionNum
  if (deleted === undefined || deleted < key.partitionNum)
    return failed(
      `there is no record that it ever existed in this cluster${(await isImported(database)) ? '. The cluster was imported, and an import reads unused segments only with --unused' : ''}`,
    )
  const [kills, rules] = await Promise.all([
    loadSegmentKills(database, dataSource, key, maxDeletions),
    loadRulesOfKilled(database, dataSource, key.interval),
  ])
  const certainty =
    deleted === key.partitionNum
      ? '. It cannot be marked as used again, because its data is gone'
      : `, or it never existed; partition [${deleted}] of the same interval and version was deleted`
  return failed(`${deletionText(kills)}${certainty}${earlierDropText(rules)}`)
}

// A segment was deleted once, but several tasks may have deleted segments of its interval and version.
const maxDeletions = 3

function deletionText({ newest, count }: Awaited<ReturnType<typeof loadSegmentKills>>): string {
  const timeText = ({ finishedAt }: SegmentKill) =>
    finishedAt === null ? '' : ` at ${formatInstant(Math.round(finishedAt))}`
  const [first] = newest
  if (first === undefined) return 'a kill task deleted it'
  if (count === 1) return `kill task [${first.shownId}] deleted it${timeText(first)}`
  const named = newest.map((task) => `[${task.shownId}]${timeText(task)}`)
  const more = count - named.length
  return `one of these kill tasks deleted it: ${named.join(', ')}${more > 0 ? `, and ${countOf(more, 'earlier one')}` : ''}`
}

/** Which rules had marked deleted segments of the same interval as unused. Begins with the period of the previous sentence. */
const earlierDropText = ([latest]: readonly RulesInForce[]): string =>
  latest === undefined
    ? ''
    : `. Drop rules had marked deleted segments of this interval as unused (${auditText({ ...latest, isDefaultRule: null })})`

const exampleKey = {
  interval: { start: Date.UTC(2026, 0, 1), end: Date.UTC(2026, 0, 2) },
  version: '2026-01-03T00:00:00.000Z',
  partitionNum: 0,
}

/** Says which change to the rules marked a segment as unused. */
export function auditText({
  isDefaultRule,
  rulesId,
  defaultRulesId,
}: Pick<DropRuleCause, 'isDefaultRule' | keyof RulesInForce>): string {
  const ofDefaults = `audit ID of the default rules: ${defaultRulesId}`
  if (isDefaultRule) return ofDefaults
  const ofRules = `audit ID of the rules: ${rulesId}`
  return isDefaultRule === null ? `${ofRules}, ${ofDefaults}` : ofRules
}
