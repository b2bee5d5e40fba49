/** A terminal window with a command and its output, as an SVG that needs no font of its own. */

const fontSize = 13
const characterWidth = 7.8
const lineHeight = 19
const padding = 20
const titleHeight = 36

// Readable on light and dark pages, since the window brings its own background.
const colors = {
  window: '#0f172a',
  title: '#1e293b',
  text: '#e2e8f0',
  dim: '#64748b',
  prompt: '#34d399',
  warning: '#fbbf24',
  drop: '#f87171',
  tiers: ['#38bdf8', '#fb923c', '#a78bfa'],
} as const

interface Span {
  readonly text: string
  readonly color: string
  readonly isBold?: boolean
}

/**
 * Draws a command and what it prints. Rows of a timeline (`hot  ...111222`) are drawn as bars: one color for each
 * tier, red for what is dropped. Lines are cut after `maxColumns` characters.
 */
export function drawTerminal(command: string, output: string, maxColumns: number): string {
  const tiers = new Map<string, string>()
  const lines: Span[][] = [
    [
      { text: '$ ', color: colors.prompt, isBold: true },
      { text: command, color: colors.text, isBold: true },
    ],
    [],
    ...output.split('\n').map((line) => spansOf(cut(line, maxColumns), tiers)),
  ]
  const columns = Math.max(...lines.map((line) => line.reduce((sum, { text }) => sum + text.length, 0)))
  const width = Math.ceil(columns * characterWidth + 2 * padding)
  const height = titleHeight + lines.length * lineHeight + 2 * padding - 6
  const dots = ['#f87171', '#fbbf24', '#34d399'].map(
    (color, index) => `<circle cx="${20 + index * 18}" cy="18" r="5.5" fill="${color}"/>`,
  )
  const rows = lines.flatMap((line, index) => drawLine(line, titleHeight + padding + index * lineHeight + 9))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${fontSize}">`,
    `<rect width="${width}" height="${height}" rx="10" fill="${colors.window}"/>`,
    `<path d="M0 ${titleHeight}V10a10 10 0 0 1 10-10h${width - 20}a10 10 0 0 1 10 10v${titleHeight - 10}z" fill="${colors.title}"/>`,
    ...dots,
    ...rows,
    '</svg>\n',
  ].join('\n')
}

function spansOf(line: string, tiers: Map<string, string>): Span[] {
  const [, label = '', bar] = /^(\S+\s+)([.x\d]{40,})$/.exec(line) ?? []
  if (bar !== undefined) {
    const name = label.trim()
    if (name !== 'unused' && name !== 'rule' && !tiers.has(name))
      tiers.set(name, colors.tiers[tiers.size % colors.tiers.length]!)
    const color = name === 'unused' ? colors.drop : (tiers.get(name) ?? colors.dim)
    const runs = bar.match(/(.)\1*/g) ?? []
    return [
      { text: label, color: color },
      ...runs.map((text) => ({ text, color: text.startsWith('.') ? '#334155' : color })),
    ]
  }
  if (line.startsWith('svc: warning:')) return [{ text: line, color: colors.warning }]
  if (/^(datasource|tier|As of)\b/.test(line) || /^ {8}/.test(line)) return [{ text: line, color: colors.dim }]
  return [{ text: line, color: colors.text }]
}

/** One text element for each word, at its own place: columns stay aligned whatever font the reader has. */
function drawLine(line: readonly Span[], y: number): string[] {
  let column = 0
  return line.flatMap(({ text, color, isBold }) => {
    const start = column
    column += text.length
    return [...text.matchAll(/\S+(?: \S+)*/g)].map((words) => {
      const x = (padding + (start + words.index) * characterWidth).toFixed(1)
      const length = (words[0].length * characterWidth).toFixed(1)
      const weight = isBold ? ' font-weight="600"' : ''
      return `<text x="${x}" y="${y}" fill="${color}" textLength="${length}" lengthAdjust="spacingAndGlyphs"${weight}>${escapeXml(words[0])}</text>`
    })
  })
}

function cut(line: string, maxColumns: number): string {
  return line.length <= maxColumns ? line : `${line.slice(0, maxColumns - 1)}…`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
