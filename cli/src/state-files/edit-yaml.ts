import { Failure } from '@svc/domain/failure'
import { canonicalJson } from '@svc/domain/json'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import { type Document, isMap, isSeq, type ParsedNode, type YAMLMap, type YAMLSeq } from 'yaml'
import { quoteMergeKeys } from './new-document.ts'
import { jsonOfNode, keyText, readYaml, type YamlText } from './read-yaml.ts'
import { YamlSource } from './yaml-source.ts'

/**
 * Returns the text of a YAML file that has other contents. Everything that stays the same is kept byte for byte, with its
 * comments. Comments directly above a removed entry are removed, too, unless the entry is the first one: then, they may be about
 * all entries.
 */
export function editYaml(
  { text, document }: Pick<YamlText, 'text' | 'document'>,
  contents: JsonObject,
): string {
  const source = new YamlSource(text, document)
  if (document.contents !== null && !isSame(document.contents, contents))
    update(source, document.contents, contents)
  const edited = source.edited()
  if (edited !== undefined && hasContents(edited, contents)) return edited
  // An unusual layout, such as a text of several lines. This keeps comments, but not the indentation.
  replaceValues(document, contents)
  quoteMergeKeys(document)
  return document.toString({ lineWidth: 0 })
}

function hasContents(text: string, contents: JsonObject): boolean {
  try {
    return canonicalJson(readYaml(text, '').json) === canonicalJson(contents)
  } catch (error) {
    if (error instanceof Failure) return false
    throw error
  }
}

/** Notes the edits that give a node a new value. */
function update(source: YamlSource, node: ParsedNode, value: unknown): void {
  if (isMap(node) && isJsonObject(value)) updateMap(source, node, value)
  else if (isSeq(node) && Array.isArray(value)) updateList(source, node, value)
  else source.replace(node, value)
}

const isSame = (node: ParsedNode, value: unknown): boolean =>
  canonicalJson(jsonOfNode(node)) === canonicalJson(value)

type Pair = YAMLMap.Parsed['items'][number]

function updateMap(source: YamlSource, map: YAMLMap.Parsed, value: JsonObject): void {
  const names = map.items.map(({ key }) => keyText(key))
  const known = new Set(names)
  const added = Object.entries(value).filter(([name]) => !known.has(name))
  const firstKept = names.findIndex((name) => Object.hasOwn(value, name))
  if (firstKept === -1) {
    source.replace(map, value)
    return
  }
  for (const [index, pair] of map.items.entries()) {
    const name = names[index]!
    if (!Object.hasOwn(value, name)) source.removeItem(map, index, firstKept)
    else if (pair.value === null) source.giveUp()
    else if (!isSame(pair.value, value[name])) updateValue(source, map, pair, value[name])
  }
  if (added.length > 0) source.insertPairs(map, Object.fromEntries(added))
}

function updateValue(
  source: YamlSource,
  map: YAMLMap.Parsed,
  { key, value: before }: Pair,
  after: unknown,
): void {
  const isInPlace = (isMap(before) && isJsonObject(after)) || (isSeq(before) && Array.isArray(after))
  const hasSameForm = isInPlace && before!.items.length > 0 && Object.keys(after as object).length > 0
  if (hasSameForm) update(source, before!, after)
  else source.replaceValue(map, key, before!, after)
}

function updateList(source: YamlSource, list: YAMLSeq.Parsed, value: readonly unknown[]): void {
  const steps = matchItems(list.items as ParsedNode[], value)
  const firstKept = steps.find(({ kind }) => kind === 'kept' || kind === 'changed')?.index
  if (firstKept === undefined || !source.hasOwnLines(list)) {
    source.replace(list, value)
    return
  }
  for (const step of steps) {
    if (step.kind === 'changed') update(source, list.items[step.index] as ParsedNode, step.value)
    else if (step.kind === 'removed') source.removeItem(list, step.index, firstKept)
    else if (step.kind === 'inserted') source.insertItem(list, step.index, step.value)
  }
}

/** What happens to the items of a list: they are kept, change their value, are removed, or are inserted before an item. */
type Step =
  | { readonly kind: 'kept'; readonly index: number }
  | { readonly kind: 'changed'; readonly index: number; readonly value: unknown }
  | { readonly kind: 'removed'; readonly index: number }
  | { readonly kind: 'inserted'; readonly index: number; readonly value: unknown }

/** Matches new values with equal items, and the others, in between, with the items at the same place. */
function matchItems(items: readonly ParsedNode[], values: readonly unknown[]): Step[] {
  const steps: Step[] = []
  const texts = items.map((item) => canonicalJson(jsonOfNode(item)))
  let next = 0
  let waiting: unknown[] = []
  const settle = (end: number): void => {
    const fitting = Math.min(end - next, waiting.length)
    for (const value of waiting.slice(0, fitting)) steps.push({ kind: 'changed', index: next++, value })
    for (const value of waiting.slice(fitting)) steps.push({ kind: 'inserted', index: next, value })
    for (; next < end; next++) steps.push({ kind: 'removed', index: next })
    waiting = []
  }
  for (const value of values) {
    const equal = texts.indexOf(canonicalJson(value), next)
    if (equal === -1) {
      waiting.push(value)
      continue
    }
    settle(equal)
    steps.push({ kind: 'kept', index: next++ })
  }
  settle(items.length)
  return steps
}

/** Replaces the values of a document. */
function replaceValues(document: Document, contents: JsonObject): void {
  const replaceIn = (map: YAMLMap, value: JsonObject): void => {
    map.items = map.items.filter(({ key }) => Object.hasOwn(value, keyText(key)))
    for (const [name, after] of Object.entries(value)) {
      const pair = map.items.find(({ key }) => keyText(key) === name)
      if (pair === undefined)
        map.items.push(document.createPair(name, after, { aliasDuplicateObjects: false }) as never)
      else if (isMap(pair.value) && isJsonObject(after)) replaceIn(pair.value, after)
      else if (!isSame(pair.value as ParsedNode, after))
        pair.value = document.createNode(after, { aliasDuplicateObjects: false })
    }
  }
  if (isMap(document.contents)) replaceIn(document.contents, contents)
  else document.contents = document.createNode(contents, { aliasDuplicateObjects: false })
}
