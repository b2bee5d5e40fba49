import { existsSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describeError, invalidInput } from '@svc/domain/failure'
import { canonicalJson, setField } from '@svc/domain/json'
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
import { createWithParents } from '../home/index.ts'
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
  const writing = new Writing(target, files, declared, live)
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
  private readonly live: LiveState
  /** The contents of the files that exist or are created. */
  private readonly contents = new Map<string, JsonObject>()
  private readonly changed = new Set<string>()
  private readonly entries: string[] = []

  constructor(target: string, files: readonly StateFile[], declared: DeclaredState, live: LiveState) {
    this.target = target
    this.live = live
    this.declared = declared
    this.files = new Map(files.map((file) => [file.source, file]))
    for (const { source, json } of files)
      this.contents.set(source, isJsonObject(json) ? structuredClone(json) : {})
  }

  write({ kind, path: at, entries }: Section): void {
    const declared = this.declared.sections.get(keyOf(at))
    const isPartial = sectionDefinitions.find((one) => one.kind === kind)!.isPartial
    if (declared === undefined && !this.isIncomplete(at)) this.sectionIn(this.fileFor(at), at)
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
      setField(this.sectionIn(file, at), name, updatedValue(kind, name, origin?.written, value))
      this.note(file, entry)
    }
    if (declared === undefined || isPartial) return
    for (const name of declared.entries.keys()) {
      const entry = [...at, name]
      const isDefaults = kind === 'rules' && name === '_default'
      // The user may not read all entries of a section.
      if (!entries.has(name) && !isDefaults && !this.live.unseen.has(keyOf(entry)))
        this.remove(this.declared.origins.get(keyOf(entry))!.source, entry)
    }
  }

  save(): Written {
    const texts = new Map<string, string>()
    for (const source of this.changed) {
      const file = this.files.get(source)
      const contents = this.contents.get(source)!
      texts.set(source, file === undefined ? newYaml(contents) : editYaml(file, contents))
    }
    if (this.changed.size > 0) {
      const folder = isOneFile(this.target) ? path.dirname(this.target) : this.target
      texts.set(path.join(folder, schemaFile), stateSchemaText())
    }
    replaceFiles(texts)
    return { files: [...this.changed].sort(), entries: this.entries }
  }

  private note(file: string, entry: readonly string[]): void {
    this.changed.add(file)
    this.entries.push(fieldAt(entry))
  }

  private remove(file: string, entry: readonly string[]): void {
    const at = entry.slice(0, -1)
    const section = this.sectionIn(file, at)
    delete section[entry.at(-1)!]
    if (Object.keys(section).length === 0 && this.isIncomplete(at))
      delete this.sectionIn(file, at.slice(0, -1))[at.at(-1)!]
    this.note(file, entry)
  }

  /** Whether a section must not be written without entries: that would remove those that the user may not read. */
  private isIncomplete(section: readonly string[]): boolean {
    return this.live.incomplete?.has(keyOf(section)) ?? false
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
      const isObject = Object.hasOwn(section, name) && isJsonObject(section[name])
      if (!isObject) setField(section, name, {})
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

/** Returns a value as a file should have it: whatever means the same stays as it was written, even in a part of the value. */
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

/**
 * Writes all files or none, so that a pull that fails can be repeated: a pull updates only the parts that existing files contain.
 * For a symbolic link, this replaces the file that it points to. Throws invalidInput if a file cannot be written.
 */
function replaceFiles(texts: ReadonlyMap<string, string>): void {
  const prepared: { readonly file: string; readonly temporary: string }[] = []
  for (const [link, text] of texts) {
    try {
      createWithParents(path.dirname(link))
      const file = existsSync(link) ? realpathSync(link) : link
      const temporary = `${file}.${process.pid}.tmp`
      prepared.push({ file, temporary })
      writeFileSync(temporary, text)
    } catch (error) {
      for (const { temporary } of prepared) rmSync(temporary, { force: true, recursive: true })
      throw invalidInput(`Failed to write [${link}]: ${describeError(error)}. No file was changed.`)
    }
  }
  for (const [index, { file, temporary }] of prepared.entries()) {
    try {
      renameSync(temporary, file)
    } catch (error) {
      for (const other of prepared.slice(index)) rmSync(other.temporary, { force: true, recursive: true })
      const replaced = prepared.slice(0, index).map((other) => other.file)
      throw invalidInput(
        `Failed to replace [${file}]: ${describeError(error)}. Files that were replaced before it: [${replaced.join(', ')}].`,
      )
    }
  }
}
