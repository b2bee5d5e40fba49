import { invalidInput } from '@svc/domain/failure'
import { defaultRulesName } from '@svc/domain/rules'

/** What a person wants previewed: the content of a file, and what options say beside it. */
export interface PreviewOptions {
  readonly datasource?: string | undefined
  readonly horizon?: string | undefined
  readonly now?: string | undefined
}

/**
 * The body of a preview of what a file holds: a list of rules, such lists by datasource, or a whole body. Throws a
 * Failure where the options do not fit to that.
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
    if (datasource === defaultRulesName) return { rules: {}, defaultRules: json, ...more }
    return { rules: datasource === undefined ? json : { [datasource]: json }, ...more }
  }
  if (typeof json !== 'object' || json === null)
    throw invalidInput('The file holds neither a list of rules nor an object with such lists')
  if (datasource !== undefined)
    throw invalidInput('Option --datasource needs a file that holds one list of rules')
  const isBody = Object.hasOwn(json, 'rules') && !Array.isArray((json as { rules: unknown }).rules)
  const isListBody = Object.hasOwn(json, 'rules') && Object.keys(json).length > 1
  // A datasource may be called rules: alone and with a list it is one.
  return isBody || isListBody ? { ...json, ...more } : { rules: json, ...more }
}
