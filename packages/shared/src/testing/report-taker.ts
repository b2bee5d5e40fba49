import { z } from 'zod'
import { internal, jsonAnswer, jsonBody, route } from '../http/index.ts'
import { acquireLease } from '../postgres/index.ts'
import {
  type Report,
  type ReportAnswer,
  readReport,
  reportLimitBytes,
  reportPath,
} from '../segment-serving/index.ts'
import { createTestContext } from './service-context.ts'
import type { TestStores } from './stores.ts'
import type { Scope } from './temporary.ts'

/** Starts a coordinator leader that responds to reports with `answer`, to test servers that report to it. */
export async function startReportTaker(
  scope: Scope,
  stores: TestStores,
  answer: (report: Report) => ReportAnswer | Promise<ReportAnswer>,
): Promise<void> {
  const context = await createTestContext(scope, stores, 'coordinator')
  await context.serve({
    routes: [
      route({
        method: 'POST',
        path: reportPath,
        access: internal,
        summary: '',
        body: jsonBody(readReport, { limitBytes: reportLimitBytes }),
        answers: [jsonAnswer(z.looseObject({}))],
        handle: ({ body }) => answer(body),
      }),
    ],
  })
  const { name } = context.node()
  const lease = { role: 'coordinator', holder: name, node: name, baseUrl: `http://${name}` } as const
  await acquireLease(stores.database, lease, 600_000)
}
