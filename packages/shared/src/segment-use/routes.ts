import { invalidInput } from '@svc/domain/failure'
import { parseInterval } from '@svc/domain/time'
import { z } from 'zod'
import { datasource, jsonAnswer, jsonBody, type Route, route } from '../http/index.ts'
import type { ServiceContext } from '../service/index.ts'
import { listOf, parserOf } from '../wire/index.ts'
import { markSelectedUnused, markSelectedUsed, type SegmentSelection } from './mark.ts'

const text = z.string({ error: 'a text' })
const texts = listOf(text, { error: 'a list of texts', max: 100_000 })

const selectionSchema = z.strictObject({
  interval: text.nullish(),
  segmentIds: texts.nullish(),
  versions: texts.nullish(),
})

/** Either an interval, with versions if wanted, or segment ids. */
const parseSelection = parserOf(
  selectionSchema,
  { subject: 'The selection of segments' },
  ({ interval, segmentIds, versions }): SegmentSelection => {
    if ((interval == null) === (segmentIds == null)) {
      throw invalidInput('Exactly one of [interval] and [segmentIds] must be given')
    }
    if (segmentIds?.length === 0)
      throw invalidInput('Field [segmentIds] is []; allowed is a list of at least one id')
    if (segmentIds != null && versions != null)
      throw invalidInput('Field [versions] is only allowed with [interval]')
    return {
      within: interval == null ? undefined : parseInterval(interval),
      ids: segmentIds ?? undefined,
      versions: versions ?? undefined,
    }
  },
)

const answers = [
  jsonAnswer(
    z
      .object({ numChangedSegments: z.int(), segmentStateChanged: z.boolean() })
      .meta({ title: 'SegmentsMarked' }),
  ),
]
const answer = (numChangedSegments: number) => ({
  numChangedSegments,
  segmentStateChanged: numChangedSegments > 0,
})

/** The endpoints that mark segments used and unused, below `prefix`: coordinator and overlord both offer them. */
export function segmentUseRoutes({ database, clock }: ServiceContext, prefix: string): Route[] {
  const path = `${prefix}/datasources/:dataSource`
  return [
    route({
      method: 'POST',
      path: `${path}/markUsed`,
      access: datasource('WRITE'),
      summary: 'Marks segments used: by interval, by interval and versions, or by id',
      body: jsonBody(parseSelection),
      answers,
      handle: async ({ params, body, audit }) =>
        answer(await markSelectedUsed(database, params.dataSource as string, body, audit, clock.now())),
    }),
    route({
      method: 'POST',
      path: `${path}/markUnused`,
      access: datasource('WRITE'),
      summary: 'Marks segments unused: by interval, by interval and versions, or by id',
      body: jsonBody(parseSelection),
      answers,
      handle: async ({ params, body, audit }) =>
        answer(await markSelectedUnused(database, params.dataSource as string, body, audit, clock.now())),
    }),
    route({
      method: 'POST',
      path,
      access: datasource('WRITE'),
      summary: 'Marks all segments of a datasource used that no newer version hides',
      answers,
      handle: async ({ params, audit }) =>
        answer(await markSelectedUsed(database, params.dataSource as string, {}, audit, clock.now())),
    }),
    route({
      method: 'DELETE',
      path,
      access: datasource('WRITE'),
      summary: 'Marks all segments of a datasource unused',
      answers,
      handle: async ({ params, audit }) =>
        answer(await markSelectedUnused(database, params.dataSource as string, {}, audit, clock.now())),
    }),
    route({
      method: 'POST',
      path: `${path}/segments/:segment`,
      access: datasource('WRITE'),
      summary: 'Marks a segment used, unless a newer version hides it',
      answers,
      handle: async ({ params, audit }) => {
        const { dataSource = '', segment = '' } = params
        return answer(await markSelectedUsed(database, dataSource, { ids: [segment] }, audit, clock.now()))
      },
    }),
    route({
      method: 'DELETE',
      path: `${path}/segments/:segment`,
      access: datasource('WRITE'),
      summary: 'Marks a segment unused',
      answers,
      handle: async ({ params, audit }) => {
        const { dataSource = '', segment = '' } = params
        return answer(await markSelectedUnused(database, dataSource, { ids: [segment] }, audit, clock.now()))
      },
    }),
  ]
}
