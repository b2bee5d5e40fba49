import { Failure } from '@svc/domain/failure'
import { readRule } from '@svc/domain/rules'
import { isJsonObject, type JsonObject, refuse, refuseCount } from '@svc/domain/validation'

/** The field with which a list of rules refers to a rule set. */
export const ruleSetField = 'ruleSet'

/** Maximum number of rules of a datasource, with those of its rule sets. */
const maxRules = 10_000
const maxRuleSets = 1000

/** Lists of rules that other lists include by name. */
export class RuleSets {
  private readonly sets: JsonObject
  private readonly compiled = new Map<string, readonly unknown[]>()
  /** Why rule sets cannot be compiled. All that include such a rule set have the same cause, which is reported once. */
  private readonly failures = new Map<string, Failure>()

  constructor(sets: JsonObject) {
    const count = Object.keys(sets).length
    if (count > maxRuleSets) throw refuseCount('rule sets', count, 'ruleSets', `at most ${maxRuleSets}`)
    this.sets = sets
  }

  /**
   * Returns a list of rules with the rules of its rule sets in their places. Throws invalidInput if it is not a list, or if a
   * rule set is unknown, includes itself, or has too many rules. `field` is the path of the list in messages.
   */
  compile(list: unknown, field: string, including: readonly string[] = []): readonly unknown[] {
    if (!Array.isArray(list)) throw refuse(field, list, 'a list of rules')
    const rules: unknown[] = []
    for (const [index, item] of list.entries()) {
      if (isReference(item)) {
        for (const rule of this.included(item, `${field}[${index}]`, including)) rules.push(rule)
      } else rules.push(item)
      if (rules.length > maxRules)
        throw refuseCount(
          'rules',
          rules.length,
          `${field}[${index}]`,
          `at most ${maxRules}, including those of rule sets`,
        )
    }
    return rules
  }

  /** Throws invalidInput if a rule set has an invalid rule, or cannot be compiled. */
  check(name: string): void {
    const field = `ruleSets.${name}`
    const list = this.sets[name]
    this.compileSet(name, [])
    checkLiteralRules(list, field)
  }

  private included(reference: JsonObject, field: string, including: readonly string[]): readonly unknown[] {
    const name = reference[ruleSetField]
    const nameField = `${field}.${ruleSetField}`
    const others = Object.keys(reference).filter((key) => key !== ruleSetField)
    if (others[0] !== undefined)
      throw refuse(`${field}.${others[0]}`, reference[others[0]], `no fields other than [${ruleSetField}]`)
    if (typeof name !== 'string' || !Object.hasOwn(this.sets, name))
      throw refuse(nameField, name, `one of the rule sets [${Object.keys(this.sets).join(', ')}]`)
    if (including.includes(name)) {
      const circle = [...including.slice(including.indexOf(name)), name].join('] -> [')
      throw refuse(nameField, name, `a rule set that does not include itself; [${circle}] is a cycle`)
    }
    return this.compileSet(name, including)
  }

  private compileSet(name: string, including: readonly string[]): readonly unknown[] {
    const known = this.compiled.get(name)
    if (known !== undefined) return known
    const failure = this.failures.get(name)
    if (failure !== undefined) throw failure
    try {
      const rules = this.compile(this.sets[name], `ruleSets.${name}`, [...including, name])
      this.compiled.set(name, rules)
      return rules
    } catch (error) {
      if (error instanceof Failure) this.failures.set(name, error)
      throw error
    }
  }
}

/** Throws invalidInput if a rule of a list is invalid. References to rule sets are checked when the list is compiled. */
export function checkLiteralRules(list: unknown, field: string): void {
  if (!Array.isArray(list)) return
  for (const [index, rule] of list.entries()) if (!isReference(rule)) readRule(rule, `${field}[${index}]`)
}

const isReference = (item: unknown): item is JsonObject =>
  isJsonObject(item) && Object.hasOwn(item, ruleSetField)
