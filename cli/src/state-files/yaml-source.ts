import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import {
  type Document,
  isCollection,
  isMap,
  isScalar,
  type ParsedNode,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'

import { newDocument } from './new-document.ts'

interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

type Collection = YAMLMap.Parsed | YAMLSeq.Parsed

/** The text of a YAML file, and what is edited in it. */
export class YamlSource {
  private readonly source: string
  private readonly lineBreak: string
  private readonly splices: Splice[] = []
  private readonly indentation: Indentation
  private isKnownLayout = true

  constructor(source: string, { contents }: Document<ParsedNode>) {
    this.source = source
    this.lineBreak = source.includes('\r\n') ? '\r\n' : '\n'
    this.indentation = indentationOf(contents, (offset) => this.columnOf(offset))
  }

  /** Returns the edited text; undefined if the layout is not known. */
  edited(): string | undefined {
    if (!this.isKnownLayout) return undefined
    const ordered = this.splices.toSorted((a, b) => a.start - b.start || a.end - b.end)
    let text = ''
    let offset = 0
    for (const { start, end, text: inserted } of ordered) {
      if (start < offset) return undefined
      text += this.source.slice(offset, start) + inserted
      offset = end
    }
    return text + this.source.slice(offset)
  }

  /** Notes that the layout is not known. */
  giveUp(): void {
    this.isKnownLayout = false
  }

  /** Whether the first line of a collection contains nothing before it. A flow collection needs no lines of its own. */
  hasOwnLines(node: Collection): boolean {
    return !isBlock(node) || this.isFirstInLine(node.range[0])
  }

  /** Replaces a node, in place. */
  replace(node: ParsedNode, value: unknown): void {
    const [start, end] = node.range
    if (isBlockScalar(node)) this.giveUp()
    else if (isBlock(node) && hasEntries(value))
      this.splice(start, endOf(node), this.blockText(value, this.columnOf(start)))
    else this.splice(start, isBlock(node) ? endOf(node) : end, this.inlineText(value, node))
  }

  /** Replaces a value in a map. A block is in the lines after its name, and any other value is in the same line. */
  replaceValue(map: YAMLMap.Parsed, key: ParsedNode, node: ParsedNode, value: unknown): void {
    const colon = this.source.indexOf(':', key.range[1]) + 1
    const isMissing = node.range[0] === node.range[1]
    const isInLine = !hasEntries(value) || (isCollection(node) && !isBlock(node) && node.items.length > 0)
    if (map.flow || isBlockScalar(node) || (isInLine && !isBlock(node) && !isMissing)) {
      this.replace(node, value)
      return
    }
    const end = isMissing || isBlock(node) ? colon : node.range[1]
    this.splice(colon, end, isInLine ? ` ${this.inlineText(value)}` : '')
    if (!isInLine) this.insertLines(end, value, this.columnOf(key.range[0]) + this.indentIn(value))
    if (isBlock(node)) this.splice(this.lineStart(node.range[0]), this.lineEnd(endOf(node)), '')
  }

  /** Adds entries at the end of a map that has some. */
  insertPairs(map: YAMLMap.Parsed, entries: JsonObject): void {
    const last = endOfItem(map.items.at(-1)!)
    if (map.flow) this.splice(last, last, `, ${this.inlineText(entries).slice(1, -1)}`)
    else this.insertLines(last, entries, this.columnOf(map.items[0]!.key.range[0]))
  }

  /** Adds an item before the one with this index, in a list that has some. */
  insertItem(list: YAMLSeq.Parsed, index: number, value: unknown): void {
    const items = list.items as ParsedNode[]
    if (list.flow) {
      const text = this.inlineText([value]).slice(1, -1)
      if (index === 0) this.splice(items[0]!.range[0], items[0]!.range[0], `${text}, `)
      else this.splice(endOf(items[index - 1]!), endOf(items[index - 1]!), `, ${text}`)
      return
    }
    const column = this.columnOf(list.range[0])
    if (index > 0) this.insertLines(endOf(items[index - 1]!), [value], column)
    else {
      const start = this.commentStart(this.lineStart(this.dashOf(items[0]!)))
      this.splice(start, start, this.lines([value], column))
    }
  }

  /** Removes an entry of a map or an item of a list, of which the one with the index `firstKept` is the first that stays. */
  removeItem(collection: Collection, index: number, firstKept: number): void {
    const items = collection.items as Item[]
    const [start, end] = [startOfItem(items[index]!), endOfItem(items[index]!)]
    if (collection.flow) {
      if (index > firstKept) this.splice(endOfItem(items[index - 1]!), end, '')
      else this.splice(start, startOfItem(items[index + 1]!), '')
      return
    }
    const lineOf = (at: number) =>
      isMap(collection) ? startOfItem(items[at]!) : this.dashOf(items[at] as ParsedNode)
    if (!this.isFirstInLine(lineOf(0)) && index < firstKept) {
      // The first entry that is kept takes the place of the first one, which shares its line with a dash.
      if (index === 0) this.splice(start, startOfItem(items[firstKept]!), '')
      return
    }
    const from = this.lineStart(lineOf(index))
    this.splice(index === 0 ? from : this.commentStart(from), this.lineEnd(end), '')
  }

  private splice(start: number, end: number, text: string): void {
    this.splices.push({ start, end, text })
  }

  /** Inserts a collection with its own lines after the line of an offset. */
  private insertLines(after: number, value: unknown, column: number): void {
    const at = this.lineEnd(after)
    const isEnded = this.source[at - 1] === '\n'
    this.splice(at, at, (isEnded ? '' : this.lineBreak) + this.lines(value, column))
  }

  private lines(value: unknown, column: number): string {
    return `${' '.repeat(column)}${this.blockText(value, column)}${this.lineBreak}`
  }

  /** A collection as a block, whose first line is not indented. */
  private blockText(value: unknown, column: number): string {
    const lines = newDocument(value)
      .toString({ lineWidth: 0, ...this.indentation })
      .trimEnd()
      .split('\n')
    return lines.join(this.lineBreak + ' '.repeat(column))
  }

  /** A value in one line, in the style of an earlier node. */
  private inlineText(value: unknown, earlier?: ParsedNode): string {
    const json = JSON.stringify(value)
    // The library would write several lines. JSON is YAML, too.
    if (json.includes('\\n')) return json
    const document = newDocument([value])
    const list = document.contents as unknown as YAMLSeq
    list.flow = true
    const [node] = list.items
    if (isScalar(node) && typeof value === 'string' && isScalar(earlier) && earlier.type)
      node.type = earlier.type
    const flowCollectionPadding = earlier !== undefined && this.source[earlier.range[0] + 1] === ' '
    return document.toString({ lineWidth: 0, flowCollectionPadding }).trim().slice(1, -1).trim()
  }

  /** The number of spaces by which a value of a block map is indented. */
  private indentIn(value: object): number {
    const { indent, indentSeq } = this.indentation
    return Array.isArray(value) && !indentSeq ? 0 : indent
  }

  private columnOf(offset: number): number {
    return offset - this.lineStart(offset)
  }

  private isFirstInLine(offset: number): boolean {
    return this.source.slice(this.lineStart(offset), offset).trim() === ''
  }

  private lineStart(offset: number): number {
    return this.source.lastIndexOf('\n', offset - 1) + 1
  }

  /** The offset after the line break of a line. */
  private lineEnd(offset: number): number {
    const found = this.source.indexOf('\n', offset)
    return found === -1 ? this.source.length : found + 1
  }

  /** Where the comments directly above a line start, if they have the same indentation. */
  private commentStart(line: number): number {
    const indentation = /^ */.exec(this.source.slice(line, line + 1000))![0]
    let start = line
    while (start > 0) {
      const previous = this.lineStart(start - 1)
      if (!this.source.startsWith(`${indentation}#`, previous)) break
      start = previous
    }
    return start
  }

  private dashOf(item: ParsedNode): number {
    return this.source.lastIndexOf('-', item.range[0] - 1)
  }
}

/** How nested collections are indented. */
interface Indentation {
  /** Spaces. */
  readonly indent: number
  /** Whether lists in maps are indented. */
  readonly indentSeq: boolean
}

/** Returns the indentation of the first nested map, and of the first list in a map. */
function indentationOf(root: ParsedNode | null, columnOf: (offset: number) => number): Indentation {
  let indent: number | undefined
  let indentSeq: boolean | undefined
  const open = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (!isMap(node) || node.flow) continue
    for (const { key, value } of node.items) {
      if (value === null || !isBlock(value)) continue
      const added = columnOf(value.range[0]) - columnOf(key.range[0])
      if (isMap(value)) indent ??= added
      else indentSeq ??= added > 0
    }
    open.push(...node.items.map(({ value }) => value).reverse())
  }
  return { indent: indent ?? 2, indentSeq: indentSeq ?? true }
}

const hasEntries = (value: unknown): value is object =>
  Array.isArray(value) ? value.length > 0 : isJsonObject(value) && Object.keys(value).length > 0

const isBlock = (node: ParsedNode): boolean => isCollection(node) && !node.flow

const isBlockScalar = (node: ParsedNode): boolean =>
  isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED')

type Item = ParsedNode | YAMLMap.Parsed['items'][number]

const startOfItem = (item: Item): number => ('key' in item ? item.key.range[0] : item.range[0])

const endOfItem = (item: Item): number =>
  'key' in item ? (item.value === null ? item.key.range[1] : endOf(item.value)) : endOf(item)

/** Where the text of a node ends, without comments and line breaks that follow. */
function endOf(node: ParsedNode): number {
  if (isBlock(node)) return endOfItem((node as Collection).items.at(-1) as Item)
  // The line break is a part of a block scalar.
  return isBlockScalar(node) ? node.range[1] - 1 : node.range[1]
}
