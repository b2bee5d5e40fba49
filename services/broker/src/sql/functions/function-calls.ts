import { Failure, invalidInput } from '@svc/domain/failure'
import { bound } from './bound.ts'
import { type CallArgument, type DefinedFunction, druidFunctions, parameterOf } from './druid-functions.ts'

const text = `CAST(${parameterOf(0)} AS VARCHAR)`
const maxBytes = parameterOf(1)

/** Name of the function that truncates a string to a number of bytes without splitting a character. */
export const cutFunction = 'svc_first_bytes'
const cutBytes = (less: number): string => `TRY(decode(encode(${text})[1:${maxBytes} - ${less}]))`
const cutSql = `CASE WHEN system.main.strlen(${text}) <= ${maxBytes} THEN ${text}
  ELSE coalesce(${[0, 1, 2, 3].map(cutBytes).join(', ')}, '') END`

/** Returns the name of one of several macros of a function. */
const variantName = (index: number, name: string): string => `svc_${index}_${name}`

/** Replaces the names of macros in a text of DuckDB with the names of functions in the query. */
export const withWrittenNames = (text: string): string => text.replace(/\bsvc_\d+_(?=[a-z])/g, '')

interface Variant {
  readonly called: string
  readonly parameters: readonly string[]
  readonly body: string
  /** Arguments that the body uses several times or in a lambda, and that are therefore evaluated first, once. */
  readonly bound: readonly string[]
}

/** Collects the calls of functions of Druid SQL, and creates the macros that they need. */
export class FunctionCalls {
  private readonly variants = new Map<string, Variant>()
  private readonly plainNames = new Set<string>()

  /**
   * Adds a call of a defined function, by its name in lower case, and returns the name of the macro to call: different
   * literals need different macros. `constants` says which arguments are the same for all rows. Throws an invalidInput
   * Failure if the call is invalid.
   */
  add(name: string, given: readonly CallArgument[], constants: readonly boolean[]): string {
    const { min, max, literals = [], optional = [], body } = druidFunctions[name] as DefinedFunction
    const shown = name === 'date_part' ? 'EXTRACT' : name.toUpperCase()
    if (given.length < min || given.length > max)
      throw invalidInput(
        `Invalid number of arguments [${given.length}] for function [${shown}]: expected ${min === max ? min : `${min} to ${max}`}`,
      )
    for (const place of literals) {
      if (place >= given.length || typeof given[place] === 'string') continue
      if (given[place] === null && optional.includes(place)) continue
      throw invalidInput(
        `Argument [${place + 1}] of function [${shown}] is an expression: expected a string literal or a parameter`,
      )
    }
    const relevant = given.map((value, place) => {
      if (literals.includes(place)) return value
      return optional.includes(place) && value === null ? null : undefined
    })
    try {
      return this.define(name, body(relevant), constants)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      throw invalidInput(`Function [${shown}]: ${error.message}`)
    }
  }

  /** Adds a call of cutFunction. */
  addCut(): void {
    this.define(cutFunction, cutSql, [false, true])
  }

  /** Returns the statements that define the macros. */
  macros(): string[] {
    const overloads = new Map<string, string[]>()
    const bodies: string[] = []
    for (const [index, { called, parameters, body, bound: used }] of [...this.variants.values()].entries()) {
      const list = parameters.join(', ')
      let sql = body
      if (used.length > 0) {
        const inner = variantName(index, 'body')
        bodies.push(`CREATE MACRO main.${inner}(${list}) AS (${body})`)
        sql = boundCall(`main.${inner}`, parameters, used)
      }
      overloads.set(called, [...(overloads.get(called) ?? []), `(${list}) AS (${sql})`])
    }
    return [
      ...bodies,
      ...[...overloads].map(([called, all]) => `CREATE MACRO main.${called}${all.join(', ')}`),
    ]
  }

  private define(name: string, body: string, constants: readonly boolean[]): string {
    const parameters = constants.map((_, place) => parameterOf(place))
    const uses = parameters.map((parameter) => body.split(new RegExp(`\\b${parameter}\\b`)).length - 1)
    const changing = parameters.filter((_, place) => !constants[place] && uses[place] !== 0)
    const isRepeated = body.includes('lambda') || uses.some((count, place) => count > 1 && !constants[place])
    const used = isRepeated ? changing : []
    const key = JSON.stringify([name, parameters.length, body, used])
    const known = this.variants.get(key)
    if (known) return known.called
    const plain = `${name} of ${parameters.length}`
    const called = this.plainNames.has(plain) ? variantName(this.variants.size, name) : name
    this.plainNames.add(plain)
    this.variants.set(key, { called, parameters, body, bound: used })
    return called
  }
}

/** Returns a call of a macro that evaluates some arguments once. They may contain subqueries, unlike lambdas. */
function boundCall(macro: string, parameters: readonly string[], used: readonly string[]): string {
  const [first] = used
  const value =
    used.length === 1 ? (first as string) : `{${used.map((name) => `${name}: ${name}`).join(', ')}}`
  return bound('given', value, (given) => {
    const passed = parameters.map((name) => {
      if (!used.includes(name)) return name
      return used.length === 1 ? given : `struct_extract(${given}, '${name}')`
    })
    return `${macro}(${passed.join(', ')})`
  })
}
