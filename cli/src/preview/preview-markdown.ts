import { escapeInvisible } from '@svc/domain/validation'
import { type Table, withoutEmptyColumns } from '../terminal/index.ts'
import { dataPicture, pictureLegend } from './data-picture.ts'
import type { PreviewReport } from './preview-report.ts'

const columns = 80

/** A preview as Markdown, for a change ticket. */
export function previewMarkdown(report: PreviewReport): string {
  const { now, sentences, effects, warnings, details, buckets, bands, noBands } = report
  const picture =
    buckets === undefined
      ? []
      : [...dataPicture(buckets, bands, columns, (_, text) => text), ...pictureLegend(buckets, bands)]
  const parts = [
    `## Preview of a rule change as of ${now}`,
    sentences.map((sentence) => `- ${escapedMarkdown(sentence)}`).join('\n'),
    markdownTable(effects),
    ...(warnings.length > 0
      ? ['### Warnings', warnings.map((message) => `- ${escapedMarkdown(message)}`).join('\n')]
      : []),
    ...(picture.length > 0 ? ['### Data', textBlock(picture), ...noBands] : []),
    ...details.flatMap(({ heading, table, picture: curves = [], notes = [] }) => [
      `### ${heading}`,
      markdownTable(table),
      ...(curves.length > 0 ? [textBlock(curves)] : []),
      ...(notes.length > 0
        ? ['Assumptions:', notes.map((note) => `- ${escapedMarkdown(note)}.`).join('\n')]
        : []),
    ]),
  ]
  return `${parts.join('\n\n')}\n`
}

const textBlock = (lines: readonly string[]): string =>
  ['```text', ...lines.map(escapeInvisible), '```'].join('\n')

function markdownTable(table: Table): string {
  const { header, rows } = withoutEmptyColumns(table)
  const lineOf = (row: readonly string[]): string => `| ${row.map(escapedMarkdown).join(' | ')} |`
  return [lineOf(header), lineOf(header.map(() => '---')), ...rows.map(lineOf)].join('\n')
}

/**
 * Markdown that shows a text as it is: names of datasources and tiers may contain almost anything. An empty comment after each `@`
 * prevents GitHub and GitLab from notifying the user or team with this name; a backslash would not.
 */
export const escapedMarkdown = (text: string): string =>
  escapeInvisible(text)
    .replace(/[\\|<>*_~&$`[\]]/g, (character) => `\\${character}`)
    .replaceAll('@', '@<!-- -->')
