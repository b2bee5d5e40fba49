import { escapeHtml } from '@svc/domain/text'

type Schema = Readonly<Record<string, unknown>>

const referencePrefix = '#/components/schemas/'

/** Returns the HTML anchor of a named schema. */
export const shapeAnchor = (name: string): string => `shape-${name}`

/**
 * Returns a JSON schema as HTML in the style of a TypeScript type: fields with their types, a question mark after
 * optional ones, and links to named schemas.
 */
export function shapeHtml(schema: Schema, indent = ''): string {
  const { $ref, anyOf, allOf, oneOf, type, description } = schema
  if (typeof $ref === 'string') {
    const name = $ref.slice(referencePrefix.length)
    return `<a href="#${escapeHtml(shapeAnchor(name))}">${escapeHtml(name)}</a>`
  }
  const choices = (anyOf ?? oneOf ?? allOf) as readonly Schema[] | undefined
  if (choices !== undefined)
    return choices.map((choice) => shapeHtml(choice, indent)).join(allOf ? ' &amp; ' : ' | ')
  if (schema.const !== undefined) return escapeHtml(JSON.stringify(schema.const))
  if (Array.isArray(schema.enum)) return escapeHtml(schema.enum.map((one) => JSON.stringify(one)).join(' | '))
  const types = (Array.isArray(type) ? type : [type ?? 'anything']) as readonly string[]
  const shown = types.map((one) => typeHtml(one, schema, indent)).join(' | ')
  return typeof description === 'string' && !types.includes('object')
    ? `${shown} <i>${escapeHtml(description)}</i>`
    : shown
}

function typeHtml(type: string, schema: Schema, indent: string): string {
  if (type === 'array') {
    const items = shapeHtml((schema.items ?? {}) as Schema, indent)
    return items.includes(' | ') && !items.startsWith('{') ? `(${items})[]` : `${items}[]`
  }
  return type === 'object' ? objectHtml(schema, indent) : escapeHtml(type)
}

function objectHtml({ properties, required, additionalProperties }: Schema, indent: string): string {
  const inner = `${indent}  `
  const names = new Set((required ?? []) as readonly string[])
  const fields = Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>).map(
    ([name, field]) => `${inner}${escapeHtml(name)}${names.has(name) ? '' : '?'}: ${shapeHtml(field, inner)}`,
  )
  const others =
    typeof additionalProperties === 'object' && Object.keys(additionalProperties as Schema).length > 0
      ? [`${inner}[name]: ${shapeHtml(additionalProperties as Schema, inner)}`]
      : []
  const lines = [...fields, ...others]
  return lines.length > 0 ? `{\n${lines.join('\n')}\n${indent}}` : 'object'
}
