import { invalidInput } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'
import { rulesBody } from '../rules/index.ts'

/** Options of a preview. */
export interface PreviewOptions {
  readonly datasource?: string | undefined
  readonly horizon?: string | undefined
  readonly now?: string | undefined
}

/**
 * The body of a preview request for the contents of a file: a list of rules, lists by datasource, or a complete request.
 * Throws a Failure if the options do not match the contents.
 */
export function previewRequestOf(
  json: unknown,
  { datasource, horizon, now }: PreviewOptions,
): Record<string, unknown> {
  const more = {
    ...(horizon === undefined ? {} : { horizon }),
    ...(now === undefined ? {} : { now }),
  }
  if (Array.isArray(json)) {
    return { ...(datasource === undefined ? { rules: json } : rulesBody(datasource, json)), ...more }
  }
  if (typeof json !== 'object' || json === null)
    throw invalidInput(
      'Invalid rules in the file: expected a list of rules, or an object with lists of rules',
    )
  if (datasource !== undefined)
    throw invalidInput('Option --datasource requires a file with one list of rules')
  const isBody = Object.hasOwn(json, 'rules') && !Array.isArray((json as { rules: unknown }).rules)
  const isListBody = Object.hasOwn(json, 'rules') && Object.keys(json).length > 1
  // If the only field is `rules` and contains a list, it is a datasource of that name.
  return isBody || isListBody ? { ...json, ...more } : { rules: json, ...more }
}

/** The only list of rules that a request changes; `datasource` is undefined for a list that applies to all datasources. */
export interface ChangedList {
  readonly datasource: string | undefined
  readonly list: readonly unknown[]
}

/** The list of rules that a request changes; undefined if there are several. */
export function changedListOf({ rules, defaultRules }: Record<string, unknown>): ChangedList | undefined {
  if (Array.isArray(rules))
    return defaultRules === undefined ? { datasource: undefined, list: rules } : undefined
  const lists = Object.entries({
    ...(rules as Record<string, unknown[]>),
    ...(defaultRules === undefined ? {} : { [defaultRulesName]: defaultRules as unknown[] }),
  })
  const [only] = lists
  return only !== undefined && lists.length === 1 ? { datasource: only[0], list: only[1] } : undefined
}
