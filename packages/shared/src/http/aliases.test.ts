import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, it } from 'node:test'
import { notFound } from '@svc/domain/failure'
import { createAliases, errorInAlias } from './aliases.ts'
import { errorBody } from './error-body.ts'

const aliases = createAliases(['druid', 'koala'])

describe('aliases', () => {
  const rows: readonly [url: string, translated: string, alias: string | undefined][] = [
    ['/druid/coordinator/v1/rules?full', '/svc/coordinator/v1/rules?full', 'druid'],
    ['/druid-ext/basic-security/x', '/svc-ext/basic-security/x', 'druid'],
    ['/koala/indexer/v1/tasks', '/svc/indexer/v1/tasks', 'koala'],
    ['/druid', '/svc', 'druid'],
    ['/svc/coordinator/v1/rules/druid', '/svc/coordinator/v1/rules/druid', undefined],
    ['/druid-internal/v1/segments', '/druid-internal/v1/segments', undefined],
    ['/druids/coordinator', '/druids/coordinator', undefined],
    ['/DRUID/coordinator', '/DRUID/coordinator', undefined],
    ['//druid/coordinator', '//druid/coordinator', undefined],
  ]
  for (const [url, translated, alias] of rows) {
    it(`translate ${url} to ${translated}`, () => {
      const request = { url, headers: {} } as IncomingMessage
      assert.equal(aliases.translate(request), alias)
      assert.equal(request.url, translated)
    })
  }

  it('have their own headers, which do not override those with the standard names', () => {
    const request = {
      url: '/druid/coordinator',
      headers: { 'x-druid-author': 'me', 'x-druid-comment': 'why', 'x-svc-comment': 'because' } as object,
    } as IncomingMessage
    aliases.translate(request)
    assert.equal(request.headers['x-svc-author'], 'me')
    assert.equal(request.headers['x-svc-comment'], 'because')
  })

  it('change only the name of an error and the API paths in it', () => {
    const body = errorBody(
      notFound('Path [/svc/v2/x] or /svc-ext/y, not /a/svc/z, ./svc/z, /svcs/z or svcException', {
        path: '/svc/v2',
      }),
    )
    assert.deepEqual(errorInAlias(body, 'druid'), {
      ...body,
      error: 'druidException',
      errorMessage: 'Path [/druid/v2/x] or /druid-ext/y, not /a/svc/z, ./svc/z, /svcs/z or svcException',
    })
  })
})
