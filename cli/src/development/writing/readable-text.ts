import ts from 'typescript'

/** The parts of a source file that are written for people. */
export interface ReadableText {
  /** The file with all code replaced by NUL characters: offsets stay the same, and no phrase spans two strings. */
  readonly prose: string
  /** Identifiers, with their offsets. */
  readonly names: readonly { readonly name: string; readonly offset: number }[]
}

type Range = readonly [start: number, end: number]

/** Returns the comments and strings of code, the comments of scripts and YAML, or Markdown without its code. */
export function readableText(file: string, text: string): ReadableText {
  if (/\.[cm]?[jt]s$|\.json$/.test(file)) return readableCode(file, text)
  if (file.endsWith('.md')) return { prose: readableMarkdown(text), names: [] }
  return { prose: readableLines(text), names: [] }
}

function readableCode(file: string, text: string): ReadableText {
  const source = file.endsWith('.json')
    ? ts.parseJsonText(file, text)
    : ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const ranges: Range[] = []
  const names: { name: string; offset: number }[] = []
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(source).filter((child) => !ts.isJSDoc(child))
    for (const child of children) visit(child)
    if (children.length > 0) return
    const start = node.getStart(source)
    const before = text.slice(node.getFullStart(), start)
    if (before.includes('/')) ranges.push([node.getFullStart(), start])
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) names.push({ name: node.text, offset: start })
    // A string without white space is usually a name or a value.
    if (isTextToken(node) && /\s/.test(node.getText(source))) ranges.push([start + 1, node.end - 1])
  }
  visit(source)
  return { prose: blankCommentMarks(keepOnly(text, ranges)), names }
}

const isTextToken = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)

const blank = (text: string): string => text.replaceAll(/[^\n]/g, '\0')
const space = (text: string): string => ' '.repeat(text.length)

function keepOnly(text: string, ranges: readonly Range[]): string {
  const pieces: string[] = []
  let end = 0
  for (const range of ranges.toSorted((a, b) => a[0] - b[0])) {
    pieces.push('\0'.repeat(range[0] - end), text.slice(...range))
    end = range[1]
  }
  return [...pieces, '\0'.repeat(text.length - end)].join('')
}

/** Removes comment markers, so that phrases are found across lines, and code quoted in comments. */
function blankCommentMarks(prose: string): string {
  return prose
    .replaceAll(/^[ \t]*\*(?!\*)(?=[ /]|$)|\/\*+|\*+\/|(?<!:)\/\/+/gm, space)
    .replaceAll(/biome-ignore[^:\n]*:|`[^`\0]*`/g, blank)
}

function readableMarkdown(text: string): string {
  return text
    .replaceAll(/^ *(```|~~~)[\s\S]*?^ *\1 *$/gm, blank)
    .replaceAll(/`[^`]*`|\]\([^)]*\)|<[^>]*>|https?:\/\/\S+/g, blank)
}

/** Keeps comments after `#`, `echo` texts, and summaries and descriptions of alert rules. */
function readableLines(text: string): string {
  return text
    .split('\n')
    .map((line) => {
      const shown = /(?:^|\s)#(?!!)(.*)$|\becho "(.*)"|^\s+(?:summary|description): (.*)$/d.exec(line)
      const range = shown?.indices?.slice(1).find((each) => each !== undefined)
      if (range === undefined) return blank(line)
      // The lines of one comment are separated by white space only, so that phrases are found across them.
      const lead = shown?.[1] === undefined || line.slice(0, range[0]).trim() !== '#' ? blank : space
      return lead(line.slice(0, range[0])) + line.slice(...range) + blank(line.slice(range[1]))
    })
    .join('\n')
}
