import { existsSync, mkdirSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { canonicalJson } from '@svc/domain/json'
import { isJsonObject, type JsonObject } from '@svc/domain/validation'
import {
  type DeclaredState,
  differ,
  fieldAt,
  isNothing,
  keyOf,
  type LiveState,
  meaningOf,
  type Section,
  type SectionKind,
  sectionDefinitions,
  stateSchemaText,
  writtenValue,
} from '../declared-state/index.ts'
import { editYaml } from './edit-yaml.ts'
import { newDocument } from './new-document.ts'
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
 * Makes files declare the configuration of a cluster. Keeps every line of entries that do not change. Files
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
  private readonly files: ReadonlyMap<string, StateFile>
  private readonly declared: DeclaredState
  /** The contents of the files that exist or are created. */
  private readonly contents = new Map<string, JsonObject>()
  private readonly changed = new Set<string>()
  private readonly entries: string[] = []

  constructor(target: string, files: readonly StateFile[], declared: DeclaredState) {
    this.target = target
    this.declared = declared
    this.files = new Map(files.map((file) => [file.source, file]))
    for (const { source, json } of files)
      this.contents.set(source, isJsonObject(json) ? structuredClone(json) : {})
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
      this.sectionIn(file, at)[name] = updatedValue(kind, name, origin?.written, value)
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
    for (const source of this.changed) {
      mkdirSync(path.dirname(source), { recursive: true })
      const file = this.files.get(source)
      const contents = this.contents.get(source)!
      replaceFile(source, file === undefined ? newYaml(contents) : editYaml(file, contents))
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
    delete this.sectionIn(file, entry.slice(0, -1))[entry.at(-1)!]
    this.note(file, entry)
  }

  /** The file that has a section, or gets it. */
  private fileFor(at: readonly string[]): string {
    const source = this.declared.origins.get(keyOf(at))?.source
    if (source !== undefined) return source
    return isOneFile(this.target) ? this.target : path.join(this.target, fileNames[at[0]!]!)
  }

  /** The object of a section in a file; it is added if the file does not have it. */
  private sectionIn(file: string, at: readonly string[]): Record<string, unknown> {
    let section = this.contents.get(file) as Record<string, unknown> | undefined
    if (section === undefined) {
      section = {}
      this.contents.set(file, section)
      this.changed.add(file)
    }
    for (const name of at) {
      if (!isJsonObject(section[name])) section[name] = {}
      section = section[name] as Record<string, unknown>
    }
    return section
  }
}

/** The text of a file that does not exist yet. */
function newYaml(contents: JsonObject): string {
  const document = newDocument(contents)
  document.commentBefore = ` yaml-language-server: $schema=./${schemaFile}`
  return document.toString({ lineWidth: 0 })
}

/** Returns a value as a file should have it: whatever means the same stays as it was written, also in a part of the value. */
function updatedValue(kind: SectionKind, name: string, earlier: unknown, value: unknown): unknown {
  const written = writtenValue(kind, name, value)
  if (kind !== 'rules')
    return withEarlierFields(earlier, written, (other) => !differ(kind, name, value, other))
  if (!Array.isArray(earlier) || !Array.isArray(written)) return written
  const textOf = (rule: unknown): string => canonicalJson(meaningOf('rules', [rule], ''))
  const kept = new Map<string, unknown[]>()
  for (const rule of earlier) kept.set(textOf(rule), [...(kept.get(textOf(rule)) ?? []), rule])
  const hasSameLength = earlier.length === written.length
  return written.map((rule, index) => {
    const equal = kept.get(textOf(rule))?.shift()
    if (equal !== undefined || !hasSameLength) return equal ?? rule
    return withEarlierFields(earlier[index], rule, (other) => textOf(other) === textOf(rule))
  })
}

/** Returns an object with those of its earlier fields that do not change its meaning. */
function withEarlierFields(
  earlier: unknown,
  value: unknown,
  meansTheSame: (other: unknown) => boolean,
): unknown {
  if (!isJsonObject(earlier) || !isJsonObject(value)) return value
  let updated = value
  for (const [field, before] of Object.entries(earlier)) {
    const other = { ...updated, [field]: before }
    if (meansTheSame(other)) updated = other
  }
  return updated
}

/** Writes a file completely or not at all. Of a symbolic link, this replaces the file to which it leads. */
function replaceFile(link: string, text: string): void {
  const file = existsSync(link) ? realpathSync(link) : link
  const temporary = `${file}.${process.pid}.tmp`
  writeFileSync(temporary, text)
  renameSync(temporary, file)
}
