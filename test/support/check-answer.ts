import { type OpenApiOperation, readStoredDocument } from '@svc/shared/openapi'
import type { Answer, SentRequest } from '@svc/shared/testing'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'

const { document } = await readStoredDocument()
const documentId = 'openapi'
const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema({ ...document, $id: documentId })

const pointer = (...parts: readonly string[]): string =>
  parts.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('')

const validators = new Map<string, ValidateFunction>()

/** Returns the validator of a schema of the document, given the path to it. */
function validatorAt(...parts: readonly string[]): ValidateFunction {
  const reference = `${documentId}#${pointer(...parts)}`
  const validator = validators.get(reference) ?? ajv.compile({ $ref: reference })
  validators.set(reference, validator)
  return validator
}

/** An operation of the document, with its path template and method. */
export interface Operation {
  readonly template: string
  readonly method: string
  readonly operation: OpenApiOperation
}

/** All operations of the document. */
export const operations: readonly Operation[] = Object.entries(document.paths).flatMap(
  ([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ template, method, operation })),
)

const patterns = Object.keys(document.paths)
  .map((template) => ({
    template,
    parameters: template.split('{').length - 1,
    pattern: new RegExp(`^${template.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{\w+\}/g, '[^/]+')}$`),
  }))
  .sort((left, right) => left.parameters - right.parameters)

/** The operation of the document for a request at the router; undefined if there is none. */
export function operationOf(method: string, path: string): Operation | undefined {
  const [ownPath = ''] = path.split('?', 1)
  const template = patterns.find(({ pattern }) => pattern.test(ownPath))?.template
  const name = method.toLowerCase()
  const operation = template === undefined ? undefined : document.paths[template]?.[name]
  return template && operation ? { template, method: name, operation } : undefined
}

/** Returns how an answer differs from the documentation of its operation; undefined if it matches. */
function problemOfAnswer(
  { template, method, operation }: Operation,
  { status, headers, text, json }: Answer,
): string | undefined {
  const about = `${method.toUpperCase()} ${template} answered ${status}`
  const response = operation.responses[status] as
    | { readonly $ref?: string; readonly content?: Readonly<Record<string, unknown>> }
    | undefined
  if (response === undefined) return `${about}, which is not documented: ${text.slice(0, 300)}`
  const name = response.$ref?.split('/').at(-1)
  const place = name
    ? ['components', 'responses', name]
    : ['paths', template, method, 'responses', String(status)]
  const content = name
    ? (document.components.responses as Record<string, typeof response>)[name]?.content
    : response.content
  const [type = ''] = String(headers['content-type'] ?? '').split(';', 1)
  if (content === undefined) return text === '' ? undefined : `${about} with a body, which is not documented`
  if (!(type in content)) return `${about} with [${type}], expected [${Object.keys(content)}]`
  if (type !== 'application/json') return undefined
  const validate = validatorAt(...place, 'content', type, 'schema')
  if (validate(json)) return undefined
  return `${about} with a body that does not match the document: ${ajv.errorsText(validate.errors).slice(0, 600)}: ${text.slice(0, 600)}`
}

/** Returns why a request body does not match the document; undefined if it does. */
export function problemOfBody({ template, method, operation }: Operation, body: unknown): string | undefined {
  if (!operation.requestBody) return 'no body is documented'
  const validate = validatorAt(
    'paths',
    template,
    method,
    'requestBody',
    'content',
    'application/json',
    'schema',
  )
  return validate(body) ? undefined : ajv.errorsText(validate.errors).slice(0, 600)
}

/** Returns why a value does not match a named shape of the document; undefined if it does. */
export function problemOfShape(name: string, value: unknown): string | undefined {
  const validate = validatorAt('components', 'schemas', name)
  return validate(value) ? undefined : ajv.errorsText(validate.errors).slice(0, 600)
}

/**
 * Throws if an answer of the router does not match the document. Ignores requests that are not documented.
 */
export function checkAnswer({ method = 'GET', path }: SentRequest, answer: Answer): void {
  const operation = operationOf(method, path)
  const problem = operation && problemOfAnswer(operation, answer)
  if (problem !== undefined) throw new Error(`An answer does not match the OpenAPI document: ${problem}`)
}
