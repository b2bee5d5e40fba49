import { Failure, invalidInput } from '@svc/domain/failure'
import { escapeInvisible } from '@svc/domain/validation'
import type { ClusterClient } from '../client/index.ts'
import { printJson, printMessage, printText, writeFileOf } from '../output/index.ts'
import type { AnsweredPreview, ChangedList, PreviewReport } from '../preview/index.ts'
import type { RuleBands } from '../rules/index.ts'
import { columnsOf, type Table } from '../terminal/index.ts'

/** The path of all rules. */
export const allRulesPath = '/svc/coordinator/v1/rules'

const maxPictureColumns = 120

/** Returns how many columns a picture has. */
export function pictureColumns(): number {
  return Math.min(columnsOf(process.stdout), maxPictureColumns)
}

/**
 * Which rule of the changed list applies over time, or why a preview cannot show it; undefined if the preview has no data over time.
 * `changed` is undefined if several lists change.
 */
export async function bandsOf(
  client: ClusterClient,
  { now, summary: { buckets } }: AnsweredPreview,
  changed: ChangedList | undefined,
): Promise<RuleBands | string | undefined> {
  if (buckets === undefined) return undefined
  if (changed === undefined) return 'Rules are shown only if a single list of rules changes.'
  const [{ ruleBandsOf }, { parseRules, defaultRule }, { parseInstant }] = await Promise.all([
    import('../rules/index.ts'),
    import('@svc/domain/rules'),
    import('@svc/domain/time'),
  ])
  const own = parseRules(changed.list)
  const answered = await defaultsFor(client, changed.datasource)
  if (answered === undefined) return 'Rules are not shown because this user may not read the default rules.'
  const defaults = parseRules(answered)
  return ruleBandsOf(buckets, {
    own: own.length,
    all: [...own, ...defaults, defaultRule],
    now: parseInstant(now),
  })
}

/** How to show a preview. */
export interface PreviewFormat {
  readonly html?: string
  readonly markdown?: boolean
  readonly json?: boolean
}

/** Throws invalidInput if two formats are requested. */
export function checkPreviewFormat({ json, markdown }: PreviewFormat): void {
  if (json && markdown) throw invalidInput('Options --json and --markdown cannot be combined')
}

/** Prints a preview as JSON, Markdown, or text, and writes it as a page if requested. */
export async function printPreview(
  answer: AnsweredPreview,
  { json, markdown, html }: PreviewFormat,
  bands: RuleBands | string | undefined,
): Promise<void> {
  const room = await import('../preview/index.ts')
  const report = room.reportOf(answer, bands)
  if (html !== undefined) writeFileOf('--html', html, room.previewHtml(report))
  if (json) {
    printJson(answer)
    return
  }
  if (markdown) {
    process.stdout.write(room.previewMarkdown(report))
    return
  }
  await printReport(report)
}

/** Prints a preview as text. */
export async function printReport(report: PreviewReport): Promise<void> {
  const [room, { fittedTable, painted }] = await Promise.all([
    import('../preview/index.ts'),
    import('../terminal/index.ts'),
  ])
  const { now, sentences, effects, warnings, details, buckets, bands, noBands } = report
  const { stdout } = process
  const textOf = (table: Table): string =>
    fittedTable(table, columnsOf(stdout), { breaksNames: stdout.isTTY }).join('\n')
  process.stdout.write(`As of ${now}:\n\n`)
  printText(sentences)
  process.stdout.write(`\n${textOf(effects)}\n`)
  printWarnings(warnings)
  for (const { table, picture = [], notes = [] } of details) {
    process.stdout.write(`\n${textOf(table)}\n`)
    if (picture.length > 0) process.stdout.write(`${picture.map(escapeInvisible).join('\n')}\n`)
    printText(notes.map((note) => `- ${note}.`))
  }
  if (buckets === undefined) return
  const colors = { before: 'gray', after: 'cyan', lost: 'red' } as const
  const lines = room.dataPicture(buckets, bands, pictureColumns(), (color, text) =>
    painted(colors[color], text),
  )
  process.stdout.write(`\n${lines.join('\n')}\n`)
  printText([...room.pictureLegend(buckets, bands), ...noBands])
}

/** Prints warnings to standard error, so that standard output stays machine-readable. */
export function printWarnings(messages: readonly string[]): void {
  for (const message of messages) printMessage(`Warning: ${message}`)
}

/** Returns the rules that follow those of a datasource; undefined if the user may not read them, so that a picture is impossible. */
async function defaultsFor(client: ClusterClient, datasource: string | undefined): Promise<unknown> {
  if (datasource === '_default') return []
  return await client.send('GET', `${allRulesPath}/_default`).catch((error: unknown) => {
    if (error instanceof Failure && error.code === 'forbidden') return undefined
    throw error
  })
}

/** Draws which tiers a list of rules, followed by the cluster defaults, loads over time. Draws nothing if the user may not read them. */
export async function showTimeline(
  client: ClusterClient,
  [datasource, list]: readonly [string, readonly unknown[]],
  shown: { readonly now?: string; readonly data?: { start: string; end: string } | undefined } = {},
): Promise<void> {
  const [{ timelinePicture }, { parseRules, defaultRule }, { parseInstant }] = await Promise.all([
    import('../rules/index.ts'),
    import('@svc/domain/rules'),
    import('@svc/domain/time'),
  ])
  const answered = await defaultsFor(client, datasource)
  if (answered === undefined) return
  const now = shown.now ?? (await timeOf(client))
  const defaults = parseRules(answered)
  const lines = timelinePicture({
    rules: [...parseRules(list), ...defaults, defaultRule],
    now: parseInstant(now),
    data: shown.data && { start: parseInstant(shown.data.start), end: parseInstant(shown.data.end) },
    columns: pictureColumns(),
  })
  process.stdout.write(`\n${lines.join('\n')}\n`)
}

/** The time of the cluster, which may differ from this machine's: an empty preview returns it. Druid has no previews. */
async function timeOf(client: ClusterClient): Promise<string> {
  if (client.interfaceName === 'druid') return new Date().toISOString()
  const nothing = { rules: {}, segments: [], servers: [] }
  return ((await client.send('POST', `${allRulesPath}/simulate`, nothing)) as AnsweredPreview).now
}
