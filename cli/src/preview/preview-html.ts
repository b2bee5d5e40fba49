import type { Table } from '../terminal/index.ts'
import { formatBytes, withoutEmptyColumns } from '../terminal/index.ts'
import { maxOf, widthText } from './data-picture.ts'
import type { PreviewReport } from './preview-report.ts'
import { previewSvg } from './preview-svg.ts'
import { textHtml } from './text-html.ts'

const style = `
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; font-size: 14px; } th, td { text-align: left; padding: .25rem .8rem .25rem 0; }
th { border-bottom: 1px solid #8c959f; } td { border-bottom: 1px solid #eaeef2; font-variant-numeric: tabular-nums; }
.loss { border-left: 4px solid #cf222e; padding-left: .8rem; font-size: 1.1rem; }
.none { border-left: 4px solid #1a7f37; padding-left: .8rem; font-size: 1.1rem; }
.key { display: inline-block; width: .9rem; height: .9rem; margin: 0 .3rem 0 1rem; vertical-align: -.1rem; }
pre { overflow-x: auto; } ins { color: #1a7f37; text-decoration: none; } del { color: #cf222e; text-decoration: none; }
svg { width: 100%; height: auto; } ol, ul { padding-left: 1.2rem; } .legend { list-style: none; padding: 0; }
`

/** A preview as one self-contained HTML page. */
export function previewHtml(report: PreviewReport): string {
  return htmlPage(previewTitle(report), previewParts(report))
}

const previewTitle = ({ now }: PreviewReport): string => `Preview of a rule change as of ${now}`

/** The parts of a page about a preview, as HTML. */
export function previewParts(report: PreviewReport): string[] {
  const { sentences, hasLosses, effects, warnings, details, buckets, bands, noBands } = report
  const parts = [
    `<h1>${textHtml(previewTitle(report))}</h1>`,
    `<div class="${hasLosses ? 'loss' : 'none'}">${sentences.map((sentence) => `<p>${textHtml(sentence)}</p>`).join('')}</div>`,
    htmlTable(effects),
  ]
  if (warnings.length > 0)
    parts.push(
      '<h2>Warnings</h2>',
      `<ul>${warnings.map((text) => `<li>${textHtml(text)}</li>`).join('')}</ul>`,
    )
  if (buckets !== undefined) {
    parts.push(
      '<h2>Data over time</h2>',
      previewSvg(buckets, bands),
      `<p>Bytes of all replicas per ${widthText(buckets.widthMs)} (maximum: ${formatBytes(maxOf(buckets))}).
<span class="key" style="background:#8c959f"></span>before<span class="key" style="background:#0969da"></span>after
<span class="key" style="background:#cf222e"></span>marked as unused<span class="key" style="background:#fb8f44"></span>used without a replica</p>`,
    )
    const rules = (bands?.legend ?? []).map(
      ({ symbol, text }) => `<li><b>${textHtml(symbol)}</b> ${textHtml(text)}</li>`,
    )
    if (rules.length > 0) parts.push(`<ul class="legend">${rules.join('')}</ul>`)
    parts.push(...noBands.map((text) => `<p>${textHtml(text)}</p>`))
  }
  for (const { heading, table, picture = [], notes = [] } of details) {
    parts.push(`<h2>${textHtml(heading)}</h2>`, htmlTable(table))
    if (picture.length > 0) parts.push(`<pre>${picture.map(textHtml).join('\n')}</pre>`)
    if (notes.length > 0)
      parts.push(`<p>Assumptions:</p><ul>${notes.map((note) => `<li>${textHtml(note)}.</li>`).join('')}</ul>`)
  }
  return parts
}

/** A self-contained HTML page of these parts. */
export function htmlPage(title: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${textHtml(title)}</title>
<style>${style}</style>
${parts.join('\n')}
</html>
`
}

function htmlTable(table: Table): string {
  const { header, rows } = withoutEmptyColumns(table)
  const cells = (row: readonly string[], tag: string): string =>
    row.map((cell) => `<${tag}>${textHtml(cell)}</${tag}>`).join('')
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')
  return `<table><thead><tr>${cells(header, 'th')}</tr></thead><tbody>\n${body}\n</tbody></table>`
}
