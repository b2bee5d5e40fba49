import type { RuleJson } from '@svc/domain/rules'
import { ruleTypes } from '@svc/domain/rules'

/** The rules in a link, or why they cannot be shown. */
export type LinkedRules = { readonly rules: readonly RuleJson[] } | { readonly problem: string }

/** Returns the rules that a link encodes, or why they cannot be shown. Their values may be invalid, as in any edit. */
export function rulesInLink(encoded: string): LinkedRules {
  const list = decoded(encoded)
  if (!isRuleList(list))
    return { problem: 'This link does not contain valid rules, so the stored rules are shown.' }
  const unknown = list.find(({ type }) => !(ruleTypes as readonly string[]).includes(type))
  return unknown === undefined
    ? { rules: list }
    : {
        problem: `This link contains a rule of the unknown type [${unknown.type}], so the stored rules are shown. Open the link in the version of svc that created it.`,
      }
}

/** Whether a value can be shown as rules, which may be invalid. */
export const isRuleList = (value: unknown): value is readonly RuleJson[] =>
  Array.isArray(value) &&
  value.every((rule: unknown) => typeof (rule as { type?: unknown } | null)?.type === 'string')

/** Returns the JSON value that a link encodes; undefined if it encodes none. */
function decoded(encoded: string): unknown {
  try {
    const bytes = atob(encoded.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0)))
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
