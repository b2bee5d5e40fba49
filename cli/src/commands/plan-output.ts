import type { Prices } from '@svc/domain/costs'
import type { ClusterClient } from '../client/index.ts'
import { printJson, writeFileOf } from '../output/index.ts'
import type { MadePlan } from '../plan/index.ts'
import { bandsOf, type PreviewFormat, printReport, printWarnings } from './rules-output.ts'

/** How to show a plan. */
export interface PlanFormat extends PreviewFormat {
  readonly prices?: Prices | undefined
}

/** Prints a plan as JSON, Markdown, or text, and writes it as a page if requested. */
export async function printPlan(
  client: ClusterClient,
  { plan, steps, preview, warnings }: Pick<MadePlan, 'plan' | 'steps' | 'preview' | 'warnings'>,
  { json, markdown, html, prices }: PlanFormat,
): Promise<void> {
  const [room, { reportOf }] = await Promise.all([import('../plan/index.ts'), import('../preview/index.ts')])
  const lists = plan.changes.filter(({ kind }) => kind === 'rules')
  const [only] = lists.length === 1 ? lists : []
  const bands =
    preview &&
    (await bandsOf(
      client,
      preview,
      only && { datasource: only.path.at(-1)!, list: (only.after ?? []) as unknown[] },
    ))
  const costs = prices && preview && room.costsOfPreview(prices, preview)
  const shown =
    preview &&
    reportOf(preview, bands, {
      more: costs === undefined ? [] : [room.costDetail(costs)],
      unusedHint: 'To mark segments as used after the change, run ./svc mark-used',
    })
  const report = room.planReport(plan, warnings, shown)
  if (html !== undefined) writeFileOf('--html', html, room.planHtml(report))
  if (json) {
    printJson({
      ...plan,
      steps: steps.map(({ phase, changes }) => ({ phase, entries: changes.map(({ path }) => path) })),
      warnings,
      preview: preview ?? null,
      ...(costs === undefined ? {} : { costs }),
    })
    return
  }
  if (markdown) {
    process.stdout.write(room.planMarkdown(report))
    return
  }
  const { title, summary, blocks } = report
  process.stdout.write(`${[`${title}:`, summary, '', ...room.diffText(blocks)].join('\n').trimEnd()}\n`)
  printWarnings(warnings)
  if (report.preview === undefined) return
  process.stdout.write('\n')
  await printReport(report.preview)
}
