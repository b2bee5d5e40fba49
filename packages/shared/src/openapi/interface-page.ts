import { escapeHtml } from '@svc/domain/text'
import type { OpenApiDocument, OpenApiOperation } from './openapi-document.ts'
import { shapeAnchor, shapeHtml } from './shape-html.ts'

const style = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h2 { margin-top: 2.5rem; border-bottom: 1px solid }
details { border-bottom: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .35rem 0 }
summary { cursor: pointer; display: grid; grid-template-columns: 4.5rem minmax(0, 3fr) minmax(0, 2fr); gap: .6rem }
summary code { overflow-wrap: anywhere }
pre { margin: .2rem 0 .6rem; padding: .4rem .7rem; overflow-x: auto; background: color-mix(in srgb, currentColor 7%, transparent) }
pre i { opacity: .7 }
table { border-collapse: collapse; margin: .5rem 0 } td, th { text-align: left; padding: .1rem 1rem .1rem 0 }
.method { font-weight: 600 }
@media (max-width: 40rem) { summary { grid-template-columns: 1fr } }
`

/** Returns the document as an HTML page without scripts or external resources. */
export function interfacePage(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = document.tags.map(({ name, description }) => {
    const rows = operations
      .filter(({ operation }) => operation.tags.includes(name))
      .map(({ path, method, operation }) => operationHtml(path, method, operation))
    return `<h2 id="${escapeHtml(name)}">${escapeHtml(name)}</h2>\n<p>${escapeHtml(description)}.</p>\n${rows.join('\n')}`
  })
  const schemas = document.components.schemas as Readonly<Record<string, Schema>>
  const shapes = Object.entries(schemas).map(
    ([name, { description, ...schema }]) =>
      `<h3 id="${escapeHtml(shapeAnchor(name))}">${escapeHtml(name)}</h3>${typeof description === 'string' ? `<p>${escapeHtml(description)}.</p>` : ''}<pre>${shapeHtml(schema)}</pre>`,
  )
  const contents = document.tags.map(({ name }) => `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`)
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(document.info.title)} ${escapeHtml(document.info.version)} API</title><style>${style}</style></head>
<body>
<h1>${escapeHtml(document.info.title)} API</h1>
<p>${escapeHtml(document.info.description)} <a href="/openapi.json">OpenAPI document</a></p>
<p>${contents.join(' · ')} · <a href="#shapes">schemas</a></p>
${sections.join('\n')}
<h2 id="shapes">schemas</h2>
<p>The named schemas that the endpoints above refer to. Fields with a question mark are optional. Responses may contain additional fields.</p>
${shapes.join('\n')}
</body>
</html>
`
}

function operationHtml(path: string, method: string, operation: OpenApiOperation): string {
  const parameters = operation.parameters as readonly { name: string; in: string; required: boolean }[]
  const rows = parameters.map(
    (parameter) =>
      `<tr><td><code>${escapeHtml(parameter.name)}</code></td><td>${parameter.in}</td><td>${parameter.required ? 'required' : 'optional'}</td></tr>`,
  )
  const table =
    rows.length > 0 ? `<table><tr><th>parameter</th><th>in</th><th></th></tr>${rows.join('')}</table>` : ''
  const body = operation.requestBody as
    | { readonly description: string; readonly required: boolean; readonly content: Content }
    | undefined
  const sent = body
    ? `<p>JSON body, ${body.required ? 'required' : 'optional'}. ${escapeHtml(body.description)}.</p>${contentHtml(body.content)}`
    : ''
  const responses = Object.entries(operation.responses)
  const answers = responses
    .filter(([, response]) => !('$ref' in response))
    .map(([status, { description, content }]) => {
      const types = Object.keys((content ?? {}) as Content)
      return `<p>Returns ${[status, ...types].map(escapeHtml).join(', ')}: ${escapeHtml(String(description))}.</p>${contentHtml((content ?? {}) as Content)}`
    })
  const errors = responses.filter(([, response]) => '$ref' in response).map(([status]) => status)
  return `<details><summary><span class="method">${method.toUpperCase()}</span><code>${escapeHtml(path)}</code><span>${escapeHtml(operation.summary)}</span></summary>
<p>${escapeHtml(operation.description)}</p>${table}${sent}${answers.join('')}
<p>Errors: ${errors.join(', ')}, as <a href="#${shapeAnchor('Error')}">Error</a></p></details>`
}

type Schema = Readonly<Record<string, unknown>>
type Content = Readonly<Record<string, { readonly schema: Schema }>>

/** The schema of JSON content; plain text needs none. */
const contentHtml = (content: Content): string =>
  content['application/json'] ? `<pre>${shapeHtml(content['application/json'].schema)}</pre>` : ''
