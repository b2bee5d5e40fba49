import type { Report, ReportAnswer } from '../segment-serving/index.ts'
import { createTestContext } from './service-context.ts'
import type { TestStores } from './stores.ts'
import type { Scope } from './temporary.ts'

/** Starts a coordinator leader that responds to reports with `answer`, to test servers that report to it. */
export async function startReportTaker(
  scope: Scope,
  stores: TestStores,
  answer: (report: Report) => ReportAnswer | Promise<ReportAnswer>,
): Promise<void> {
  // Loaded on first use, like the parts of servers in other helpers.
  const [{ readReport, reportLimitBytes, reportPath }, http, { acquireLease }] = await Promise.all([
    import('../segment-serving/index.ts'),
    import('../http/index.ts'),
    import('../postgres/index.ts'),
  ])
  const { internal, jsonAnswer, jsonBody, route, shapeOf } = http
  const context = await createTestContext(scope, stores, 'coordinator')
  await context.serve({
    routes: [
      route({
        method: 'POST',
        path: reportPath,
        access: internal,
        summary: '',
        body: jsonBody(readReport, { limitBytes: reportLimitBytes }),
        answers: [jsonAnswer(shapeOf(() => ({ type: 'object' })))],
        handle: ({ body }) => answer(body),
      }),
    ],
  })
  const { name } = context.node()
  const lease = { role: 'coordinator', holder: name, node: name, baseUrl: `http://${name}` } as const
  await acquireLease(stores.database, lease, 600_000)
}
