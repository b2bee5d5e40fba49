import { escapedMarkdown, previewMarkdown } from '../preview/index.ts'
import { diffMarkdown, type PlanReport } from './plan-report.ts'

/**
 * A plan as Markdown, for a change ticket or a pull request. What happens to the data is first, because a reader of a plan that
 * is too long for a comment must see it.
 */
export function planMarkdown({ title, summary, blocks, warnings, preview }: PlanReport): string {
  // A name may contain the end of a code block.
  const fence = '`'.repeat(
    Math.max(3, ...diffMarkdown(blocks).map((line) => (/`+/.exec(line)?.[0].length ?? 0) + 1)),
  )
  const parts = [
    `## ${escapedMarkdown(title)}`,
    summary,
    ...(warnings.length > 0
      ? [warnings.map((text) => `- Warning: ${escapedMarkdown(text)}`).join('\n')]
      : []),
    ...(preview === undefined ? [] : [previewMarkdown(preview).trimEnd()]),
    ...(blocks.length > 0 ? [[`${fence}diff`, ...diffMarkdown(blocks), fence].join('\n')] : []),
  ]
  return `${parts.join('\n\n')}\n`
}
