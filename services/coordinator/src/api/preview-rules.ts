import { forbidden, tooLarge } from '@svc/domain/failure'
import { previewRequestSchema } from '@svc/domain/preview'
import { rulesSchema } from '@svc/domain/rules'
import {
  configLimitBytes,
  jsonAnswer,
  jsonBody,
  Reply,
  type Route,
  route,
  statedDatasource,
} from '@svc/shared/http'
import { rulesShape } from '@svc/shared/shapes'
import { positiveCount, presence, shapeOf, unparsed } from '@svc/shared/wire'
import { z } from 'zod'
import { atLeader } from '../leadership/index.ts'
import type { Previews } from '../preview/index.ts'
import type { ClusterView } from './cluster-view.ts'
import type { RuleLists } from './rules.ts'
import { rulesPreviewShape } from './rules-preview-shape.ts'

// A hundred thousand rules find room in it, so that they can be told to be too many.
const limitBytes = 16 * 1024 * 1024
// Fifty thousand segments with all that an answer says of them.
const maxValues = 1_500_000
const defaultPage = 1000
const largestPage = 10_000

const requestShape = shapeOf({ anyOf: [previewRequestSchema(), rulesSchema()] })

const query = z.object({
  full: presence,
  limit: positiveCount
    .refine((limit) => limit <= largestPage, { error: `a whole number from 1 to ${largestPage}` })
    .default(defaultPage),
  offset: z
    .string({ error: 'one text, given once' })
    .regex(/^\d{1,9}$/, { error: 'a whole number from 0 to 999999999' })
    .transform(Number)
    .default(0),
})

// A datasource may have the name that stands for previews.
const namesake = 'simulate'
const path = `/svc/coordinator/v1/rules/${namesake}`

/**
 * The endpoint that tells what a change of rules would do, and changes nothing. Its path is also that of the rules of a
 * datasource of this name: a list is what replaces them, and no preview.
 */
export function previewRulesRoutes(
  { leadership, context }: ClusterView,
  previews: Previews,
  lists: RuleLists,
): Route[] {
  const shown = route({
    method: 'GET',
    path,
    access: { kind: 'permission', action: 'READ', type: 'DATASOURCE', name: namesake },
    summary: `The rules of a datasource that is called ${namesake}; with full the cluster default rules after them`,
    query: z.object({ full: presence }),
    answers: [jsonAnswer(rulesShape)],
    handle: ({ query: { full } }) => lists.show(namesake, full),
  })
  const previewed = atLeader(
    leadership,
    context,
    route({
      method: 'POST',
      path,
      access: statedDatasource('READ', 'the datasources that the body names; others are left out'),
      summary:
        'What rules would do to given segments and servers, or to those of the cluster; full with a page of the segments of the cluster. A list replaces the rules of a datasource that is called simulate',
      query,
      body: jsonBody(unparsed(requestShape), { limitBytes, maxValues }),
      answers: [
        jsonAnswer(rulesPreviewShape, {
          description: 'The preview; after a list of rules the body is empty',
        }),
      ],
      handle: async ({ body, query: page, caller, audit, signal }) => {
        if (Array.isArray(body)) {
          if (!caller.can('WRITE', 'DATASOURCE', namesake))
            throw forbidden(`The permission [WRITE] on [DATASOURCE] [${namesake}] is missing`)
          const { length } = JSON.stringify(body)
          if (length > configLimitBytes)
            throw tooLarge(`The rules have [${length}] characters; expected [${configLimitBytes}]`)
          return await lists.replace(namesake, body, audit)
        }
        return new Reply(200, await previews.answer(body, page, caller, signal), {
          'Content-Type': 'application/json; charset=utf-8',
        })
      },
    }),
  )
  return [shown, previewed]
}
