import { invalidInput } from '@svc/domain/failure'
import { parseSegmentId } from '@svc/domain/segment'
import { readInterval } from '@svc/domain/time'
import { converted, optional, readFields, readList, readText, refuse } from '@svc/domain/validation'
import { type AuditInfo, datasource, jsonAnswer, jsonBody, type Route, route } from '../http/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { segmentsMarkedShape } from '../shapes/index.ts'
import { markSelectedUnused, markSelectedUsed, type SegmentSelection } from './mark.ts'

const texts = readList(readText, { max: 100_000, expected: 'a list of strings' })

/** Reads a selection: either an interval with optional versions, or segment IDs. */
const readSelection = converted(
  readFields({ interval: optional(readInterval), segmentIds: optional(texts), versions: optional(texts) }),
  ({ interval, segmentIds, versions }): SegmentSelection => {
    if ((interval === null) === (segmentIds === null)) {
      throw invalidInput('Exactly one of [interval] and [segmentIds] is required')
    }
    if (segmentIds?.length === 0) throw refuse('segmentIds', segmentIds, 'a list with at least one ID')
    if (segmentIds !== null && versions !== null)
      throw invalidInput('Field [versions] is only allowed with [interval]')
    return {
      within: interval ?? undefined,
      ids: segmentIds ?? undefined,
      versions: versions ?? undefined,
    }
  },
)

const answers = [jsonAnswer(segmentsMarkedShape)]
const answer = (numChangedSegments: number) => ({
  numChangedSegments,
  segmentStateChanged: numChangedSegments > 0,
})

/** Throws invalidInput if no segment of the datasource can have one of these IDs. */
function checkIds(dataSource: string, ids: readonly string[] | undefined, field: string): void {
  const invalid = ids?.find((id) => parseSegmentId(dataSource, id) === undefined)
  if (invalid !== undefined) throw refuse(field, invalid, `the ID of a segment of datasource [${dataSource}]`)
}

/**
 * Returns the endpoints below `prefix` that mark segments as used or unused. Both coordinator and overlord have them.
 */
export function segmentMarkingRoutes(
  { database, clock }: Pick<ServiceContext, 'database' | 'clock'>,
  prefix: string,
): Route[] {
  const path = `${prefix}/datasources/:dataSource`
  const mark = async (
    change: typeof markSelectedUsed,
    { dataSource = '', segment }: Readonly<Record<string, string>>,
    selection: SegmentSelection,
    audit: AuditInfo,
  ) => {
    checkIds(dataSource, selection.ids, segment === undefined ? 'segmentIds' : 'segment')
    return answer(await change(database, dataSource, selection, audit, clock.now()))
  }
  return [
    route({
      method: 'POST',
      path: `${path}/markUsed`,
      access: datasource('WRITE'),
      summary: 'Mark segments as used; select segments by interval, by interval and versions, or by ID',
      body: jsonBody(readSelection),
      answers,
      handle: ({ params, body, audit }) => mark(markSelectedUsed, params, body, audit),
    }),
    route({
      method: 'POST',
      path: `${path}/markUnused`,
      access: datasource('WRITE'),
      summary: 'Mark segments as unused; select segments by interval, by interval and versions, or by ID',
      body: jsonBody(readSelection),
      answers,
      handle: ({ params, body, audit }) => mark(markSelectedUnused, params, body, audit),
    }),
    route({
      method: 'POST',
      path,
      access: datasource('WRITE'),
      summary: 'Mark all segments of a datasource as used unless they are overshadowed',
      answers,
      handle: ({ params, audit }) => mark(markSelectedUsed, params, {}, audit),
    }),
    route({
      method: 'DELETE',
      path,
      access: datasource('WRITE'),
      summary: 'Mark all segments of a datasource as unused',
      answers,
      handle: ({ params, audit }) => mark(markSelectedUnused, params, {}, audit),
    }),
    route({
      method: 'POST',
      path: `${path}/segments/:segment`,
      access: datasource('WRITE'),
      summary: 'Mark a segment as used unless it is overshadowed',
      answers,
      handle: ({ params, audit }) =>
        mark(markSelectedUsed, params, { ids: [params.segment as string] }, audit),
    }),
    route({
      method: 'DELETE',
      path: `${path}/segments/:segment`,
      access: datasource('WRITE'),
      summary: 'Mark a segment as unused',
      answers,
      handle: ({ params, audit }) =>
        mark(markSelectedUnused, params, { ids: [params.segment as string] }, audit),
    }),
  ]
}
