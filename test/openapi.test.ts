// Proves that the OpenAPI document is the one that the routes make, that it is valid, and that the router serves it and
// a page which shows every endpoint.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { loadEndpoints, openApiText } from '@svc/cli/development'
import { readStoredDocument } from '@svc/shared/openapi'
import { startTestCluster } from './support/test-cluster.ts'

const { text: stored, document } = await readStoredDocument()

test('the stored document is what the routes make (./svc dev docs writes it)', async () => {
  assert.equal(stored, await openApiText())
})

test('the document is valid OpenAPI', async () => {
  const { valid, errors } = await new Validator().validate(JSON.parse(stored) as Record<string, unknown>)
  assert.ok(valid, JSON.stringify(errors))
})

test('every endpoint of every server is in the document, but those that servers ask of each other', async () => {
  const missing = (await loadEndpoints()).flatMap(({ role, endpoints }) =>
    endpoints
      .filter(({ path: template }) => !template.startsWith('/svc-internal/'))
      .filter(({ method, path: template }) => {
        const written = template.replace(/:(\w+)/g, '{$1}')
        // What every server has is told of the router, coordinator and overlord.
        return ![written, `/proxy/${role}${written}`].some(
          (candidate) => document.paths[candidate]?.[method.toLowerCase()],
        )
      })
      .map(({ method, path: template }) => `${role} ${method} ${template}`),
  )
  assert.deepEqual(missing, [])
})

test('no two operations have one name', () => {
  const names = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
})

test('the router serves the document and the page, to who has logged in', async () => {
  const cluster = await startTestCluster({ profile: 'secure', historicals: '_default_tier=1' })
  after(() => cluster.end())
  assert.deepEqual(await cluster.router.get('/openapi.json'), document)
  const answer = await cluster.router.send({ method: 'GET', path: '/interface' })
  assert.equal(answer.status, 200)
  assert.match(answer.headers['content-type'] as string, /^text\/html/)
  for (const template of Object.keys(document.paths))
    assert.ok(answer.text.includes(`<code>${template}</code>`))
  const refused = await cluster.router.send({
    method: 'GET',
    path: '/interface',
    credentials: 'admin:wrong',
  })
  assert.equal(refused.status, 401)
})
