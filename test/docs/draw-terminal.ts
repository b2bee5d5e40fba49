import { wrappedText } from '@svc/cli/terminal'

/** Returns a terminal window with a command and its output, as an SVG without a font of its own. */

const fontSize = 13
const characterWidth = 7.8
const lineHeight = 19
const padding = 20
const titleHeight = 36

// Readable on light and dark pages, because the window has its own background.
const colors = {
  window: '#0f172a',
  title: '#1e293b',
  text: '#e2e8f0',
  dim: '#94a3b8',
  prompt: '#34d399',
  warning: '#fbbf24',
  nothing: '#334155',
  before: '#94a3b8',
  after: '#38bdf8',
  lost: '#f87171',
  rule: '#94a3b8',
} as const

interface Span {
  readonly text: string
  readonly color: string
  readonly isBold?: boolean
}

/**
 * Draws a command and its output. The rows of the picture of data have colors: blue after the change, red for losses.
 * Warnings longer than `maxColumns` characters continue on the next line.
 */
export function drawTerminal(command: string, output: string, maxColumns: number): string {
  const lines: Span[][] = [
    [
      { text: '$ ', color: colors.prompt, isBold: true },
      { text: command, color: colors.text, isBold: true },
    ],
    [],
    ...output.split('\n').flatMap((line) => spansOf(line, maxColumns)),
  ]
  const width = Math.ceil(maxColumns * characterWidth + 2 * padding)
  const height = titleHeight + lines.length * lineHeight + 2 * padding - 6
  const dots = ['#f87171', '#fbbf24', '#34d399'].map(
    (color, index) => `<circle cx="${20 + index * 18}" cy="18" r="5.5" fill="${color}"/>`,
  )
  const rows = lines.flatMap((line, index) => drawLine(line, titleHeight + padding + index * lineHeight + 9))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${fontSize}">`,
    `<title>${escapeXml(command)}</title>`,
    `<rect width="${width}" height="${height}" rx="10" fill="${colors.window}"/>`,
    `<path d="M0 ${titleHeight}V10a10 10 0 0 1 10-10h${width - 20}a10 10 0 0 1 10 10v${titleHeight - 10}z" fill="${colors.title}"/>`,
    ...dots,
    ...rows,
    '</svg>\n',
  ].join('\n')
}

/** Splits a line into colored lines of limited length. */
function spansOf(line: string, maxColumns: number): Span[][] {
  const [, label = '', row, bar] = /^((?:.* )?(before|after|lost|rule) +)([.x!\d▁-█]{40,})$/.exec(line) ?? []
  if (bar !== undefined) return [[{ text: label, color: colors.text }, ...barSpans(row as Row, bar)]]
  const isWarning = /^svc: warning:/i.test(line)
  const isHeading =
    /^ *(datasource$|datasource {2}|tier {2}|effect {2}|As of )/.test(line) || /^ {8}/.test(line)
  const color = isWarning ? colors.warning : isHeading ? colors.dim : colors.text
  // As the command prints it in a terminal.
  const rows = isWarning ? wrappedText(line, maxColumns, '     ').split('\n') : [line]
  return rows.map((text) => [{ text, color }])
}

type Row = 'before' | 'after' | 'lost' | 'rule'

function barSpans(row: Row, bar: string): Span[] {
  const runs = bar.match(/\.+|[^.]+/g) ?? []
  return runs.map((text) => ({ text, color: text.startsWith('.') ? colors.nothing : colors[row] }))
}

/**
 * One text element for each group of words, at a fixed position, so that columns stay aligned in any font.
 */
function drawLine(line: readonly Span[], y: number): string[] {
  let column = 0
  return line.flatMap(({ text, color, isBold }) => {
    const start = column
    column += text.length
    const words = [...text.matchAll(/\S+(?: \S+)*/g)].map((found) => {
      const x = (padding + (start + found.index) * characterWidth).toFixed(1)
      const length = (found[0].length * characterWidth).toFixed(1)
      const weight = isBold ? ' font-weight="600"' : ''
      return `<text x="${x}" y="${y}" fill="${color}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${weight}>${escapeXml(found[0])}</text>`
    })
    return words
  })
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
