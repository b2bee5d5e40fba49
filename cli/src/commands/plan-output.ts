import { writeFileSync } from 'node:fs'
import type { ClusterClient } from '../client/index.ts'
import { printJson } from '../output/index.ts'
import type { MadePlan } from '../plan/index.ts'
import { bandsOf, type PreviewFormat, printReport, printWarnings } from './rules-output.ts'

/** Prints a plan as JSON, Markdown, or text, and writes it as a page if requested. */
export async function printPlan(
  client: ClusterClient,
  { plan, steps, preview, warnings }: MadePlan,
  { json, markdown, html }: PreviewFormat,
): Promise<void> {
  const [room, rules] = await Promise.all([import('../plan/index.ts'), import('../rules/index.ts')])
  const lists = plan.changes.filter(({ kind }) => kind === 'rules')
  const [only] = lists.length === 1 ? lists : []
  const bands =
    preview && only && (await bandsOf(client, preview, only.path.at(-1)!, (only.after ?? []) as unknown[]))
  const report = room.planReport(plan, warnings, preview && rules.reportOf(preview, bands))
  if (html !== undefined) writeFileSync(html, room.planHtml(report))
  if (json) {
    printJson({
      ...plan,
      steps: steps.map(({ phase, changes }) => ({ phase, entries: changes.map(({ path }) => path) })),
      warnings,
      preview: preview ?? null,
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
