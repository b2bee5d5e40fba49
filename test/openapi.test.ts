// The OpenAPI document matches the routes and is valid, and a page shows all of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { loadEndpoints, openApiText } from '@svc/cli/development'
import { interfacePage, readStoredDocument } from '@svc/shared/openapi'

const { text: stored, document } = await readStoredDocument()

test('the stored document matches the routes (`./svc dev docs` updates it)', async () => {
  assert.equal(stored, await openApiText())
})

test('the document is valid OpenAPI', async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(stored) as Record<string, unknown>)
  assert.ok(valid, JSON.stringify(errors))
})

test('the document has every endpoint of every server, except those for servers only', async () => {
  const missing = (await loadEndpoints()).flatMap(({ role, endpoints }) =>
    endpoints
      .filter(({ path: template }) => !template.startsWith('/svc-internal/'))
      .filter(({ method, path: template }) => {
        const written = template.replace(/:(\w+)/g, '{$1}')
        // Endpoints of every server are documented for the router, coordinator, and overlord.
        return ![written, `/proxy/${role}${written}`].some(
          (candidate) => document.paths[candidate]?.[method.toLowerCase()],
        )
      })
      .map(({ method, path: template }) => `${role} ${method} ${template}`),
  )
  assert.deepEqual(missing, [])
})

test('operation names are unique', () => {
  const names = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
})

test('every operation documents its input and answers', () => {
  const undescribed = Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody, responses }]) => {
      const described = Object.entries(responses).filter(([, response]) => !('$ref' in response))
      const contents = [requestBody, ...described.map(([, response]) => response)].flatMap((part) =>
        Object.values((part?.content ?? {}) as Record<string, { readonly schema: object }>),
      )
      const isDescribed =
        described.length > 0 && contents.every(({ schema }) => Object.keys(schema).length > 0)
      return isDescribed ? [] : [`${method} ${template}`]
    }),
  )
  // Only documented as unsupported.
  assert.deepEqual(undescribed, ['get /svc/coordinator/v1/config/compaction/taskslots'])
})

test('the page shows the schemas, and all of its links work', () => {
  const page = interfacePage(document)
  const targets = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
  assert.deepEqual(
    links.filter((link) => !targets.has(link)),
    [],
  )
  for (const name of Object.keys(document.components.schemas as object))
    assert.ok(targets.has(`shape-${name}`), name)
  const lines = [
    '  dataSource: string',
    '  taskPriority?: integer | null',
    '  skipOffsetFromLatest?: string | null',
  ]
  const [, config = ''] = /id="shape-CompactionConfig">.*?<pre>(.*?)<\/pre>/s.exec(page) ?? []
  for (const line of lines) assert.ok(config.includes(line), line)
})
