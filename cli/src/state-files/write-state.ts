import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { canonicalJson } from '@svc/domain/json'
import { Document, isMap, isNode, isScalar, isSeq, type YAMLMap } from 'yaml'
import {
  type DeclaredState,
  differ,
  fieldAt,
  isNothing,
  keyOf,
  type LiveState,
  meaningOf,
  type Section,
  sectionDefinitions,
  stateSchemaText,
  writtenValue,
} from '../declared-state/index.ts'
import { isOneFile, type StateFile } from './state-files.ts'

/** The file with the JSON schema, next to the files of a state, so that editors can complete and check them. */
export const schemaFile = 'state.schema.json'

const fileNames: Readonly<Record<string, string>> = {
  rules: 'rules.yaml',
  compaction: 'compaction.yaml',
  coordinator: 'coordinator.yaml',
  authorizers: 'security.yaml',
  authenticators: 'security.yaml',
}

/** What a pull wrote. */
export interface Written {
  /** Files that were created or changed. */
  readonly files: readonly string[]
  /** Paths of entries that were added, changed, or removed. */
  readonly entries: readonly string[]
}

/**
 * Makes files declare the configuration of a cluster. Keeps comments, the order, and whatever already means the same. Files
 * that declare something are updated only in the sections that they declare.
 */
export function writeState(
  target: string,
  files: readonly StateFile[],
  declared: DeclaredState,
  live: LiveState,
): Written {
  const writing = new Writing(target, files, declared)
  for (const { path: pattern } of sectionDefinitions)
    for (const section of live.sections.values())
      if (
        matches(section.path, pattern) &&
        (files.length === 0 || declared.sections.has(keyOf(section.path)))
      )
        writing.write(section)
  return writing.save()
}

const matches = (given: readonly string[], pattern: readonly string[]): boolean =>
  given.length === pattern.length && pattern.every((key, index) => key === '*' || key === given[index])

class Writing {
  private readonly target: string
  private readonly declared: DeclaredState
  private readonly documents = new Map<string, Document>()
  private readonly changed = new Set<string>()
  private readonly entries: string[] = []

  constructor(target: string, files: readonly StateFile[], declared: DeclaredState) {
    this.target = target
    this.declared = declared
    for (const { source, document } of files) this.documents.set(source, document)
  }

  write({ kind, path: at, entries }: Section): void {
    const declared = this.declared.sections.get(keyOf(at))
    const isPartial = sectionDefinitions.find((one) => one.kind === kind)!.isPartial
    if (declared === undefined) this.sectionIn(this.fileFor(at), at)
    for (const [name, value] of entries) {
      const entry = [...at, name]
      const origin = this.declared.origins.get(keyOf(entry))
      if (origin === undefined && (isNothing(kind, value) || (isPartial && (declared || value === null))))
        continue
      if (origin !== undefined && !differ(kind, name, declared?.entries.get(name), value)) continue
      if (isNothing(kind, value)) {
        this.remove(origin!.source, entry)
        continue
      }
      const file = origin?.source ?? this.fileFor(at)
      const section = this.sectionIn(file, at)
      const document = this.documents.get(file)!
      const node = document.createNode(writtenValue(kind, name, value))
      if (kind === 'rules') keepNodes(node, pairOf(section, name)?.value)
      const pair = pairOf(section, name)
      if (pair === undefined) {
        if (section.items.length === 0) section.flow = false
        section.items.push(document.createPair(name, node) as never)
      } else pair.value = node
      this.note(file, entry)
    }
    if (declared === undefined || isPartial) return
    for (const name of declared.entries.keys()) {
      const entry = [...at, name]
      const isDefaults = kind === 'rules' && name === '_default'
      if (!entries.has(name) && !isDefaults)
        this.remove(this.declared.origins.get(keyOf(entry))!.source, entry)
    }
  }

  save(): Written {
    for (const file of this.changed) {
      mkdirSync(path.dirname(file), { recursive: true })
      replaceFile(file, this.documents.get(file)!.toString({ lineWidth: 0 }))
    }
    if (this.changed.size > 0) {
      const folder = isOneFile(this.target) ? path.dirname(this.target) : this.target
      replaceFile(path.join(folder, schemaFile), stateSchemaText())
    }
    return { files: [...this.changed].sort(), entries: this.entries }
  }

  private note(file: string, entry: readonly string[]): void {
    this.changed.add(file)
    this.entries.push(fieldAt(entry))
  }

  private remove(file: string, entry: readonly string[]): void {
    const section = this.sectionIn(file, entry.slice(0, -1))
    const index = section.items.indexOf(pairOf(section, entry.at(-1)!) as never)
    if (index < 0) return
    section.items.splice(index, 1)
    this.note(file, entry)
  }

  /** The file that has a section, or gets it. */
  private fileFor(at: readonly string[]): string {
    const source = this.declared.origins.get(keyOf(at))?.source
    if (source !== undefined) return source
    return isOneFile(this.target) ? this.target : path.join(this.target, fileNames[at[0]!]!)
  }

  /** The object of a section in a file; it is added if the file does not have it. */
  private sectionIn(file: string, at: readonly string[]): YAMLMap {
    let document = this.documents.get(file)
    if (document === undefined) {
      document = new Document({})
      document.commentBefore = ` yaml-language-server: $schema=./${schemaFile}`
      this.documents.set(file, document)
      this.changed.add(file)
    }
    if (!isMap(document.contents)) document.contents = document.createNode({}) as never
    let map = document.contents as unknown as YAMLMap
    for (const name of at) {
      const pair = pairOf(map, name)
      if (pair !== undefined && isMap(pair.value)) {
        map = pair.value as YAMLMap
        continue
      }
      const next = document.createNode({}) as YAMLMap
      // An empty object may be written as {}, which would make everything in it one line.
      map.flow = false
      map.items.push(document.createPair(name, next) as never)
      this.changed.add(file)
      map = next
    }
    return map
  }
}

/** The pair of a name, which may be a number or another plain value in YAML. */
const pairOf = (map: YAMLMap, name: string) =>
  map.items.find(
    ({ key }) => isScalar(key) && (typeof key.value === 'string' ? key.value : key.source) === name,
  )

/** Replaces the rules of a new list with the equal ones of the earlier list, which have comments. */
function keepNodes(list: unknown, earlier: unknown): void {
  if (!isSeq(list) || !isSeq(earlier)) return
  list.commentBefore = earlier.commentBefore ?? null
  const kept = new Map<string, unknown[]>()
  const textOf = (node: unknown): string =>
    canonicalJson(meaningOf('rules', isNode(node) ? [node.toJSON()] : [node], ''))
  for (const node of earlier.items) {
    const text = textOf(node)
    kept.set(text, [...(kept.get(text) ?? []), node])
  }
  list.items = list.items.map((node) => kept.get(textOf(node))?.shift() ?? node)
}

/** Writes a file completely or not at all. */
function replaceFile(file: string, text: string): void {
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, text)
  renameSync(temporary, file)
}
