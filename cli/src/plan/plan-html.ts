import { htmlPage, previewParts, textHtml } from '../preview/index.ts'
import type { PlanReport } from './plan-report.ts'

const tags = { same: 'span', removed: 'del', added: 'ins' } as const
const signs = { same: ' ', removed: '-', added: '+' } as const

/** A plan as one self-contained HTML page. */
export function planHtml({ title, summary, blocks, warnings, preview }: PlanReport): string {
  const parts = [`<h1>${textHtml(title)}</h1>`, `<p>${textHtml(summary)}</p>`]
  if (warnings.length > 0)
    parts.push(`<ul>${warnings.map((text) => `<li>Warning: ${textHtml(text)}</li>`).join('')}</ul>`)
  for (const { heading, lines } of blocks) {
    const shown = lines.map(
      ({ kind, text }) => `<${tags[kind]}>${signs[kind]} ${textHtml(text)}</${tags[kind]}>`,
    )
    parts.push(`<h2>${textHtml(heading)}</h2>`, `<pre>${shown.join('\n')}</pre>`)
  }
  if (preview !== undefined) parts.push(...previewParts(preview))
  return htmlPage(title, parts)
}
