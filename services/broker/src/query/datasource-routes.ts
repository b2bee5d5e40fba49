import { authenticated, datasource, jsonAnswer, type Route, route } from '@svc/shared/http'
import { type Database, loadDatasourceNames, loadSegmentRecords } from '@svc/shared/postgres'
import { permittedNames } from '@svc/shared/security'
import { namesShape } from '@svc/shared/shapes'
import * as z from 'zod'

const maxChecked = 200

/** The endpoints that list what can be queried. */
export function datasourceRoutes(database: Database): Route[] {
  return [
    route({
      method: 'GET',
      path: '/svc/v2/datasources',
      access: authenticated,
      summary: 'List the datasources that the caller may query',
      answers: [jsonAnswer(namesShape)],
      handle: async ({ caller }) => await permittedNames(caller, await loadDatasourceNames(database, false)),
    }),
    route({
      method: 'GET',
      path: '/svc/v2/datasources/:dataSource',
      access: datasource('READ'),
      summary: 'List the dimensions and metrics in the newest segments of a datasource',
      answers: [jsonAnswer(z.object({ dimensions: namesShape, metrics: namesShape }))],
      handle: async ({ params }) => {
        const newest = await loadSegmentRecords(database, {
          dataSource: params.dataSource as string,
          used: true,
          order: 'DESC',
          limit: maxChecked,
        })
        const namesIn = (part: 'dimensions' | 'metrics') => [
          ...new Set(newest.flatMap(({ payload }) => payload[part].split(',').filter(Boolean))),
        ]
        return { dimensions: namesIn('dimensions'), metrics: namesIn('metrics') }
      },
    }),
  ]
}
