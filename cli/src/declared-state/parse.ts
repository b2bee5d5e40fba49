import { type Prices, readPrices } from '@svc/domain/costs'
import { Failure, invalidInput } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'
import {
  assertKnownFields,
  isJsonObject,
  type JsonObject,
  refuse,
  refuseSecret,
} from '@svc/domain/validation'
import { RuleSets } from './rule-sets.ts'
import { definitionOf, type SectionKind, sectionDefinitions } from './sections.ts'
import { fieldAt, keyOf, type Section, type State } from './state.ts'

/** The contents of one file. */
export interface StateDocument {
  /** The name of the file. */
  readonly source: string
  readonly json: unknown
}

/** What is wrong with a declared state. */
export interface Problem {
  readonly source: string
  /** The path of the invalid value, such as `rules.wikipedia[0].period`. */
  readonly field: string
  readonly message: string
  /** The path of an entry that is still valid if a cluster already has exactly this value. */
  readonly unlessLive?: readonly string[]
  /** The user may not read this part of the cluster. */
  readonly isDenied?: boolean
}

/** Where an entry is written. */
interface Origin {
  readonly source: string
  /** The value in the file, in which rule sets are references. */
  readonly written: unknown
}

/** The configuration that files declare. */
export interface DeclaredState {
  readonly sections: State
  readonly problems: readonly Problem[]
  /** By the key of the path of each section and entry. */
  readonly origins: ReadonlyMap<string, Origin>
  readonly prices: Prices | undefined
}

const topFields = ['ruleSets', ...new Set(sectionDefinitions.map(({ path }) => path[0]!)), 'prices']

/** Returns what files declare, with everything that is wrong with it. */
export function parseState(documents: readonly StateDocument[]): DeclaredState {
  const reading = new Reading()
  for (const { source, json } of documents)
    reading.attempt(source, '', () => reading.readRuleSets(source, json))
  // Otherwise, every reference to a rule set would be a problem, too.
  if (!reading.checkRuleSets()) return reading
  for (const { source, json } of documents)
    reading.attempt(source, '', () => reading.readSections(source, json))
  return reading
}

/** A section whose entries are still being read. */
interface OpenSection extends Section {
  readonly entries: Map<string, unknown>
}

class Reading implements DeclaredState {
  readonly sections = new Map<string, OpenSection>()
  readonly problems: Problem[] = []
  readonly origins = new Map<string, Origin>()
  prices: Prices | undefined
  private pricesSource = ''
  private ruleSets = new RuleSets({})
  private readonly ruleSetsByName = new Map<string, { readonly source: string; readonly list: unknown }>()

  /** Reads a part, and records what is wrong with it. */
  attempt(source: string, field: string, read: () => unknown, unlessLive?: readonly string[]): void {
    try {
      read()
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      const { field: given = field } = error.context
      this.problems.push({
        source: sourceOfRuleSet(given, this.ruleSetsByName) ?? source,
        field: given,
        message: error.message,
        ...(unlessLive === undefined ? {} : { unlessLive }),
      })
    }
  }

  readRuleSets(source: string, json: unknown): void {
    const { ruleSets } = documentOf(json)
    if (ruleSets === undefined) return
    for (const [name, list] of Object.entries(objectAt(ruleSets, 'ruleSets'))) {
      const first = this.ruleSetsByName.get(name)
      if (first === undefined) this.ruleSetsByName.set(name, { source, list })
      else this.problems.push(duplicate(source, ['ruleSets', name], first.source))
    }
  }

  /** Returns false if there are too many rule sets to check. */
  checkRuleSets(): boolean {
    const sets = [...this.ruleSetsByName].map(([name, { list }]) => [name, list] as const)
    const [first] = this.ruleSetsByName.values()
    if (first === undefined) return true
    let read: RuleSets | undefined
    this.attempt(first.source, 'ruleSets', () => {
      read = new RuleSets(Object.fromEntries(sets))
    })
    if (read === undefined) return false
    this.ruleSets = read
    for (const [name, { source }] of this.ruleSetsByName)
      this.attempt(source, `ruleSets.${name}`, () => this.ruleSets.check(name))
    return true
  }

  readSections(source: string, json: unknown): void {
    const document = documentOf(json)
    for (const name of Object.keys(document)) {
      if (name === 'ruleSets') continue
      this.attempt(source, name, () => {
        assertKnownFields({ [name]: document[name] }, topFields, '')
        if (name === 'prices') this.readPrices(source, document[name])
        else this.readBelow(source, [name], document[name])
      })
    }
  }

  private readPrices(source: string, json: unknown): void {
    if (this.prices === undefined) {
      this.prices = readPrices(json, 'prices')
      this.pricesSource = source
    } else this.problems.push(duplicate(source, ['prices'], this.pricesSource))
  }

  private readBelow(source: string, path: readonly string[], json: unknown): void {
    const definitions = sectionDefinitions.filter((one) => startsWith(one.path, path))
    const object = objectAt(json, fieldAt(path))
    const [only] = definitions
    if (only?.path.length === path.length) {
      this.readSection(source, only.kind, path, object)
      return
    }
    const next = [...new Set(definitions.map((one) => one.path[path.length]!))]
    for (const [name, value] of Object.entries(object)) {
      const below = [...path, name]
      this.attempt(source, fieldAt(below), () => {
        if (!next.includes('*')) assertKnownFields({ [name]: value }, next, fieldAt(path))
        this.readBelow(source, below, value)
      })
    }
  }

  private readSection(source: string, kind: SectionKind, path: readonly string[], json: JsonObject): void {
    const key = keyOf(path)
    const section = this.sections.get(key) ?? { kind, path, entries: new Map() }
    this.sections.set(key, section)
    if (!this.origins.has(key)) this.origins.set(key, { source, written: json })
    for (const [name, value] of Object.entries(json)) {
      const entry = [...path, name]
      const first = this.origins.get(keyOf(entry))
      if (first !== undefined) {
        this.problems.push(duplicate(source, entry, first.source))
        continue
      }
      this.origins.set(keyOf(entry), { source, written: value })
      const field = fieldAt(entry)
      this.attempt(source, field, () =>
        section.entries.set(name, kind === 'rules' ? this.ruleSets.compile(value, field) : value),
      )
      if (kind === 'rules' && name === defaultRulesName)
        this.attempt(source, field, () => assertHasRules(section.entries.get(name), field), entry)
      const { readName, check } = definitionOf(kind)
      this.attempt(source, field, () => readName(name, field), entry)
      // A file and a cluster describe a user differently, so an existing user does not show that the value is valid.
      this.attempt(source, field, () => check(value, name, field), kind === 'logins' ? undefined : entry)
    }
  }
}

/** Throws invalidInput for the empty list: a cluster always has default rules. */
function assertHasRules(list: unknown, field: string): void {
  if (Array.isArray(list) && list.length === 0) throw refuse(field, list, 'at least one rule')
}

/** A path in a rule set is in the file of the rule set, even if a datasource includes it. */
function sourceOfRuleSet(
  field: string,
  sets: ReadonlyMap<string, { readonly source: string }>,
): string | undefined {
  if (!field.startsWith('ruleSets.')) return undefined
  const rest = field.slice('ruleSets.'.length)
  for (const [name, { source }] of sets)
    if (rest.startsWith(name) && /^($|[.[])/.test(rest.slice(name.length))) return source
  return undefined
}

function documentOf(json: unknown): JsonObject {
  // An empty file, or one that has only comments.
  if (json === null || json === undefined) return {}
  if (!isJsonObject(json))
    throw invalidInput(
      `Invalid contents: expected an object with one or more of the fields [${topFields.join(', ')}]`,
    )
  return json
}

function objectAt(json: unknown, field: string): JsonObject {
  if (isJsonObject(json)) return json
  const expected = 'an object (write {} for an empty one)'
  // The value may be a password.
  throw field.startsWith('authenticators') ? refuseSecret(field, expected) : refuse(field, json, expected)
}

const duplicate = (source: string, path: readonly string[], first: string): Problem => ({
  source,
  field: fieldAt(path),
  message: `Duplicate [${fieldAt(path)}]: expected only one, but another one is in [${first}]`,
})

const startsWith = (pattern: readonly string[], path: readonly string[]): boolean =>
  path.every((key, index) => pattern[index] === '*' || pattern[index] === key)
