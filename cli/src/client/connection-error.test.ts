import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unavailable } from '@svc/domain/failure'
import { connectionContext, describeConnectionError, isPermanent } from './connection-error.ts'

const cases: { name: string; error: Error; expect: string }[] = [
  {
    name: 'https against a plain port',
    error: Object.assign(
      new Error(
        'write EPROTO 40F3E7057C7F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../deps/openssl/openssl/ssl/record/methods/tlsany_meth.c:78:\n',
      ),
      { code: 'EPROTO' },
    ),
    expect: 'the server does not use TLS on this port; use http:// or the TLS port',
  },
  {
    name: 'a missing client certificate',
    error: Object.assign(
      new Error(
        '40F3E7057C7F0000:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps/openssl/openssl/ssl/record/rec_layer_s3.c:918:SSL alert number 116\n',
      ),
      { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', reason: 'tlsv13 alert certificate required' },
    ),
    expect: 'TLS handshake failed: tlsv13 alert certificate required',
  },
  {
    name: 'an error of OpenSSL without a reason',
    error: Object.assign(
      new Error('write EPROTO 1:error:0A000410:SSL routines:ssl3_read_bytes:handshake failure:x.c:1:'),
      { code: 'EPROTO' },
    ),
    expect: 'TLS handshake failed: handshake failure',
  },
  {
    name: 'an unknown host',
    error: Object.assign(new Error('getaddrinfo ENOTFOUND nosuch'), {
      code: 'ENOTFOUND',
      hostname: 'nosuch',
    }),
    expect: 'unknown host [nosuch]',
  },
  {
    name: 'any other error',
    error: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
    expect: 'connect ECONNREFUSED 127.0.0.1:1',
  },
]

for (const { name, error, expect } of cases) {
  test(`describes ${name}`, () => assert.equal(describeConnectionError(error), expect))
}

const failed = (message: string, code: string): Error => Object.assign(new Error(message), { code })
const lasting: [error: Error, isLasting: boolean][] = [
  [failed('getaddrinfo ENOTFOUND nosuch', 'ENOTFOUND'), true],
  [failed('self-signed certificate in certificate chain', 'SELF_SIGNED_CERT_IN_CHAIN'), true],
  [failed('write EPROTO: wrong version number', 'EPROTO'), true],
  [failed('getaddrinfo EAI_AGAIN slow', 'EAI_AGAIN'), false],
  [failed('connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'), false],
  [failed('socket hang up', 'ECONNRESET'), false],
]
for (const [error, isLasting] of lasting)
  test(`waiting ${isLasting ? 'cannot help' : 'may help'} if the connection fails with "${error.message}"`, () => {
    assert.equal(isPermanent(unavailable('failed', connectionContext(error))), isLasting)
  })
