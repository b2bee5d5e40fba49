import { jsonListOfTexts, jsonObjectOfTexts } from './compose.ts'

/**
 * Returns the JSON text of a value with the fields of objects sorted, so that equal values have equal texts. With
 * `withoutNulls`, null fields of objects are left out.
 */
export function canonicalJson(value: unknown, { withoutNulls = false } = {}): string {
  const textOf = (one: unknown): string => {
    if (Array.isArray(one)) return jsonListOfTexts(one.map(textOf))
    if (typeof one !== 'object' || one === null) return JSON.stringify(one) ?? 'null'
    const fields = Object.entries(one)
      .filter(([, field]) => field !== undefined && !(withoutNulls && field === null))
      .sort(([a], [b]) => (a < b ? -1 : 1))
    return jsonObjectOfTexts(fields.map(([name, field]) => [name, textOf(field)]))
  }
  return textOf(value)
}
