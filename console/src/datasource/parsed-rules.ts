import { Failure } from '@svc/domain/failure'
import { maxRules, parseRules, type Rule, RuleBoundaries, readRule } from '@svc/domain/rules'

/** Rules that were parsed, or the first problem, with the index of its rule if it is about one. */
export type ParsedList =
  | { readonly rules: readonly Rule[] }
  | { readonly problem: string; readonly index: number | undefined }

// An edit changes one of up to 10,000 rules, so the others are not parsed again.
const parsedLists = new WeakMap<readonly object[], ParsedList>()
const parsedRules = new WeakMap<object, Rule>()

/** Parses rules as the coordinator does. Lists and rules that were parsed before are not parsed again. */
export function parseList(list: readonly object[]): ParsedList {
  const known = parsedLists.get(list) ?? parse(list)
  parsedLists.set(list, known)
  return known
}

/** Returns where the rules of a datasource and then the cluster defaults apply at a time; undefined if any of them is invalid. */
export function boundariesOf(
  own: readonly object[],
  defaults: readonly object[],
  now: number,
): RuleBoundaries | undefined {
  const [parsedOwn, parsedDefaults] = [parseList(own), parseList(defaults)]
  if (!('rules' in parsedOwn && 'rules' in parsedDefaults)) return undefined
  return new RuleBoundaries(parsedOwn.rules, parsedDefaults.rules, now)
}

function parse(list: readonly object[]): ParsedList {
  try {
    return { rules: list.length > maxRules ? parseRules(list) : list.map(parseRule) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const index = /rules\[(\d+)\]/.exec(error.message)?.[1]
    return { problem: error.message, index: index === undefined ? undefined : Number(index) }
  }
}

function parseRule(json: object, index: number): Rule {
  const rule = parsedRules.get(json) ?? readRule(json, `rules[${index}]`)
  parsedRules.set(json, rule)
  return rule
}
