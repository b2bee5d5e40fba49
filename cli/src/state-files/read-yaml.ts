import { type Failure, invalidInput } from '@svc/domain/failure'
import { escapeControlCharacters, showValue } from '@svc/domain/validation'
import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  Parser,
  type Scalar,
} from 'yaml'

/** A YAML file that has the same meaning as JSON. */
export interface YamlText {
  readonly text: string
  readonly document: Document<ParsedNode>
  readonly json: unknown
  /** Returns line and column, such as `3:5`, of the value at a path such as `rules.wikipedia[0].period`, or of what contains it. */
  position(field: string): string
}

const maxLength = 16 * 1024 * 1024
const maxLevels = 64

/** Reads a YAML text. `name` is the file in messages. Throws invalidInput, with line and column, if it is not like JSON. */
export function readYaml(text: string, name: string): YamlText {
  if (text.length > maxLength)
    throw invalidInput(
      `${name}:1:1: The file has [${text.length}] characters: expected at most [${maxLength}]`,
    )
  const lines = new LineCounter()
  const positionAt = (offset: number): string => {
    const { line, col } = lines.linePos(offset)
    return `${Math.max(line, 1)}:${Math.max(col, 1)}`
  }
  const refuseAt = (offset: number, message: string): Failure =>
    invalidInput(`${name}:${positionAt(offset)}: ${escapeControlCharacters(message)}`)
  const tokens = [...new Parser(lines.addNewLine).parse(text)]
  assertFlat(tokens, refuseAt)
  // Duplicate keys are found while values are converted: the check of the library takes quadratic time.
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false, version: '1.2', schema: 'core' })
  const [document, second] = [...composer.compose(tokens, true, text.length)]
  const [error] = [...(document?.errors ?? []), ...(second?.errors ?? [])]
  if (error !== undefined) throw refuseAt(error.pos[0], `Invalid YAML: ${withoutPeriod(error.message)}`)
  if (second !== undefined)
    throw refuseAt(startOf(second.contents), 'The file contains several documents: expected only one')
  const found = document as Document<ParsedNode>
  const json = jsonOf(found.contents, refuseAt)
  return { text, document: found, json, position: (field) => positionAt(offsetOf(found.contents, field)) }
}

type Refuse = (offset: number, message: string) => Failure

const startOf = (node: Node | null | undefined): number => node?.range?.[0] ?? 0

const withoutPeriod = (message: string): string => message.replace(/\.?\s*$/, '')

/** Throws if values have too many levels. Everything that follows calls itself for each level. */
function assertFlat(tokens: readonly CST.Token[], refuseAt: Refuse): void {
  const open: [token: CST.Token, level: number][] = tokens.map((token) => [token, 0])
  for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
    const [token, level] = entry
    if (level > maxLevels)
      throw refuseAt(token.offset, `Values are nested too deeply: expected at most [${maxLevels}] levels`)
    if (token.type === 'document' && token.value) open.push([token.value, level + 1])
    if (!('items' in token)) continue
    for (const { key, value } of token.items) {
      if (key) open.push([key, level + 1])
      if (value) open.push([value, level + 1])
    }
  }
}

function jsonOf(node: ParsedNode | null, refuseAt: Refuse): unknown {
  if (node === null) return null
  if (isAlias(node))
    throw refuseAt(startOf(node), `Aliases such as [*${node.source}] are not supported: ${advice}`)
  if (node.anchor !== undefined)
    throw refuseAt(startOf(node), `Anchors such as [&${node.anchor}] are not supported: ${advice}`)
  if (node.tag !== undefined && !plainTags.has(node.tag))
    throw refuseAt(startOf(node), `Unsupported tag [${showValue(node.tag)}]: expected plain values`)
  if (isScalar(node)) return scalarOf(node, refuseAt)
  if (isSeq(node)) return node.items.map((item) => jsonOf(item as ParsedNode, refuseAt))
  if (!isMap(node)) throw refuseAt(startOf(node), 'Unsupported value')
  const entries = new Map<string, unknown>()
  for (const { key, value } of node.items) {
    const name = keyOf(key as ParsedNode | null, refuseAt, startOf(node))
    if (entries.has(name))
      throw refuseAt(startOf(key as Node), `Duplicate [${showValue(name)}]: expected only one`)
    entries.set(name, jsonOf(value as ParsedNode | null, refuseAt))
  }
  return Object.fromEntries(entries)
}

const advice = 'to reuse rules, use [ruleSets]'

const plainTags = new Set(
  ['map', 'seq', 'str', 'int', 'float', 'bool', 'null'].map((name) => `tag:yaml.org,2002:${name}`),
)

function scalarOf(node: { readonly value: unknown }, refuseAt: Refuse): unknown {
  const { value } = node
  if (typeof value === 'number' && !Number.isFinite(value))
    throw refuseAt(startOf(node as Node), `Invalid number [${value}]: expected a finite number`)
  return value
}

/** Returns a node of a file that was read, as JSON. */
export const jsonOfNode = (node: ParsedNode | null): unknown =>
  jsonOf(node, (_, message) => invalidInput(message))

/** Returns the name that a key of a file that was read stands for. Names such as 2024 and null need no quotes. */
export function keyText(key: unknown): string {
  const { value, source } = key as Scalar
  return typeof value === 'string' ? value : (source ?? String(value))
}

function keyOf(key: ParsedNode | null, refuseAt: Refuse, offset: number): string {
  if (!isScalar(key)) throw refuseAt(key === null ? offset : startOf(key), 'Invalid key: expected a name')
  jsonOf(key, refuseAt)
  if (key.source === '<<' && key.type === 'PLAIN')
    throw refuseAt(startOf(key), `Merge keys [<<] are not supported: ${advice}`)
  return keyText(key)
}

/** The place of the value at a path. Names may contain dots and brackets, so the longest name that fits is the right one. */
function offsetOf(contents: ParsedNode | null, field: string): number {
  let node: ParsedNode | null = contents
  let offset = startOf(contents)
  let rest = field
  while (rest !== '') {
    const index = /^\[(\d+)\](\.?)/.exec(rest)
    if (isSeq(node) && index) {
      const item: ParsedNode | undefined = node.items[Number(index[1])] as ParsedNode | undefined
      if (item === undefined) return offset
      ;[node, offset, rest] = [item, startOf(item), rest.slice(index[0].length)]
      continue
    }
    const pair = isMap(node) ? pairAtStart(node, rest) : undefined
    if (pair === undefined) return offset
    const { name, key, value } = pair
    offset = isScalar(value) && value.range![0] < value.range![1] ? startOf(value) : startOf(key)
    node = value
    rest = rest.slice(name.length).replace(/^\./, '')
  }
  return offset
}

/** The pair whose name is at the start of a path; the longest name wins. */
function pairAtStart(node: Extract<ParsedNode, { items: { key: unknown }[] }>, rest: string) {
  return node.items
    .map(({ key, value }) => ({
      name: isScalar(key) ? keyText(key) : '',
      key: key as ParsedNode,
      value: value as ParsedNode | null,
    }))
    .filter(({ name }) => rest.startsWith(name) && /^($|[.[])/.test(rest.slice(name.length)))
    .sort((a, b) => b.name.length - a.name.length)[0]
}
