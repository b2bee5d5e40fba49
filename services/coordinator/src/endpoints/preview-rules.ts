import { tooLarge } from '@svc/domain/failure'
import { maxBuckets, previewRequestSchema } from '@svc/domain/preview'
import { rulesSchema } from '@svc/domain/rules'
import { omittable, readLater } from '@svc/domain/validation'
import { jsonAnswer, jsonBody, Reply, type Route, route, statedDatasource } from '@svc/shared/http'
import { assertAccess } from '@svc/shared/security'
import { rulesShape } from '@svc/shared/shapes'
import { integerParameter, positiveCount, presence } from '@svc/shared/wire'
import type { ClusterView } from '../cluster-view.ts'
import { atLeader } from '../leadership/index.ts'
import { type Previews, rulesPreviewShape } from '../preview/index.ts'
import { maxRulesBytes, type RuleLists, replaceRulesQuery } from './rules.ts'

// Has room for 100,000 rules, so that such a request fails because of the number of rules.
const limitBytes = 16 * 1024 * 1024
// Enough for 50,000 segments with all the fields of a response.
const maxValues = 1_500_000
const defaultPage = 1000
const maxPageSize = 10_000

const query = {
  full: presence,
  limit: omittable(positiveCount(maxPageSize), defaultPage),
  offset: omittable(integerParameter(0, 999_999_999), 0),
  buckets: omittable(positiveCount(maxBuckets)),
  ...replaceRulesQuery,
}

// A datasource may have the same name as the preview endpoint.
const namesake = 'simulate'
const path = `/svc/coordinator/v1/rules/${namesake}`

/**
 * Returns the endpoint that previews a rule change without applying it. Its path is also the path of the rules of a
 * datasource named `simulate`, so a list as the body replaces these rules.
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
    summary: `Get the rules of a datasource named ${namesake}; \`full\` appends the cluster default rules`,
    query: { full: presence },
    answers: [jsonAnswer(rulesShape)],
    handle: ({ query: { full } }) => lists.show(namesake, full),
  })
  const previewed = route({
    method: 'POST',
    path,
    access: statedDatasource(
      'READ',
      'the datasources in the body; datasources that the caller is not allowed to read are left out',
    ),
    summary:
      'Preview what rules would do to the given segments and servers, or to those of the cluster. `full` adds a page of cluster segments, and `buckets` adds the loaded bytes of each period of time. If the body is a list of rules, the list replaces the rules of a datasource named `simulate`',
    query,
    body: jsonBody(
      readLater(() => ({ anyOf: [previewRequestSchema(), rulesSchema()] })),
      {
        limitBytes,
        maxValues,
      },
    ),
    answers: [
      jsonAnswer(rulesPreviewShape, {
        description: 'The preview; empty if the request was a list of rules',
      }),
    ],
    handle: async (input) => {
      const { body, query: page, caller, signal } = input
      if (Array.isArray(body)) {
        await assertAccess(caller, namesake, 'WRITE')
        const { length } = JSON.stringify(body)
        if (length > maxRulesBytes)
          throw tooLarge(`The rules have [${length}] characters as JSON: expected at most [${maxRulesBytes}]`)
        return await lists.replace(namesake, body, input)
      }
      return new Reply(200, await previews.answer(body, page, caller, signal), {
        'Content-Type': 'application/json; charset=utf-8',
      })
    },
  })
  return [shown, previewed].map((one) => atLeader(leadership, context, one))
}
