import ts from 'typescript'
import { isInlineTag } from './string-nodes.ts'

/** The parts of a source file that are written for people. */
export interface ReadableText {
  /** The file with all code replaced by NUL characters: offsets stay the same, and no phrase spans two strings. */
  readonly prose: string
  /** Identifiers, with their offsets. */
  readonly names: readonly { readonly name: string; readonly offset: number }[]
}

type Range = readonly [start: number, end: number]

/** Returns the comments and texts of code, the comments of scripts, YAML, and SQL, or Markdown and HTML without code. */
export function readableText(file: string, text: string): ReadableText {
  if (/\.([cm]?[jt]sx?|json|java)$/.test(file)) return readableCode(file, text)
  if (/\.(md|html)$/.test(file)) return { prose: readableMarkdown(text), names: [] }
  const line = file.endsWith('.sql') ? commentOfSql : textOfLine
  return { prose: readableLines(text, line), names: [] }
}

function readableCode(file: string, text: string): ReadableText {
  const source = file.endsWith('.json')
    ? ts.parseJsonText(file, text)
    : ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const ranges: Range[] = []
  const joints: Range[] = []
  const names: { name: string; offset: number }[] = []
  const visit = (node: ts.Node): void => {
    const children = node.getChildren(source).filter((child) => !ts.isJSDoc(child))
    const countBefore = ranges.length
    for (const child of children) visit(child)
    if (isJointOfText(node) && ranges.length === countBefore) joints.push([node.getStart(source), node.end])
    if (children.length > 0) return
    if (ts.isJsxText(node)) return void ranges.push([node.pos, node.end])
    const start = node.getStart(source)
    const before = text.slice(node.getFullStart(), start)
    if (before.includes('/')) ranges.push([node.getFullStart(), start])
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) names.push({ name: node.text, offset: start })
    // A string without white space is usually a name or a value.
    if (isTextToken(node) && !isSpace(node) && /\s/.test(node.getText(source)))
      ranges.push([start + 1, node.end - 1])
  }
  visit(source)
  return { prose: blankCommentMarks(keepOnly(text, ranges, joints)), names }
}

const isTextToken = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)

/** Whether a part of JSX is between two texts of one sentence, such as the tag of a word in bold. */
function isJointOfText(node: ts.Node): boolean {
  if (ts.isJsxExpression(node)) return isSpace(node.expression)
  if (!ts.isJsxOpeningElement(node) && !ts.isJsxClosingElement(node)) return false
  return isInlineTag(node)
}

const isSpace = (node: ts.Node | undefined): boolean =>
  node !== undefined && ts.isStringLiteralLike(node) && node.text.trim() === ''

const blank = (text: string): string => text.replaceAll(/[^\n]/g, '\0')
const space = (text: string): string => ' '.repeat(text.length)

/** Keeps the text in `ranges`. Spaces replace the text in `joints`, and NUL characters replace all other text. */
function keepOnly(text: string, ranges: readonly Range[], joints: readonly Range[]): string {
  const pieces: string[] = []
  let end = 0
  const kept = [
    ...ranges.map((range) => ({ range, shown: text.slice(...range) })),
    ...joints.map((range) => ({ range, shown: space(text.slice(...range)) })),
  ]
  for (const { range, shown } of kept.toSorted((a, b) => a.range[0] - b.range[0])) {
    pieces.push('\0'.repeat(range[0] - end), shown)
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

/** A comment after `#`, the text of `echo`, or the summary or description of an alert rule. */
const textOfLine = /(?:^|\s)#(?!!)(.*)$|\becho "(.*)"|^\s+(?:summary|description): (.*)$/d
const commentOfSql = /--(.*)$/d

/** Keeps what the groups of `pattern` match in each line. The first group matches comments. */
function readableLines(text: string, pattern: RegExp): string {
  return text
    .split('\n')
    .map((line) => {
      const shown = pattern.exec(line)
      const range = shown?.indices?.slice(1).find((each) => each !== undefined)
      if (range === undefined) return blank(line)
      // The lines of one comment are separated by white space only, so that phrases are found across them.
      const lead = shown?.[1] === undefined || /[^#\s-]/.test(line.slice(0, range[0])) ? blank : space
      return lead(line.slice(0, range[0])) + line.slice(...range) + blank(line.slice(range[1]))
    })
    .join('\n')
}
