import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { addAuthenticationUser, saveAuthenticationUser, saveUserWithRole } from '@svc/shared/postgres'
import { basicHeader, hashPassword } from '@svc/shared/security'
import { createTestContext, createTestStores, httpRequest } from '@svc/shared/testing'
import { explainRoute } from './explain.ts'

const stores = await createTestStores({ after })
const writes = (name: string) => ({ resource: { type: 'DATASOURCE', name }, action: 'WRITE' }) as const
const readsAll = [{ resource: { type: 'CONFIG', name: '.*' }, action: 'READ' }] as const

/** Starts a coordinator that tries authenticator B for users whom A does not know, or only A. */
async function startCoordinator(skipOnFailure: boolean, more: Readonly<Record<string, string>> = {}) {
  const properties = Object.fromEntries(
    ['A', 'B'].flatMap((name) => [
      [`svc.auth.authenticator.${name}.type`, 'basic'],
      [`svc.auth.authenticator.${name}.authorizerName`, 'Z'],
    ]),
  )
  const context = await createTestContext({ after }, stores, 'coordinator', {
    ...properties,
    'svc.auth.authenticatorChain': '["A","B"]',
    'svc.auth.authenticator.A.skipOnFailure': String(skipOnFailure),
    'svc.auth.authorizers': '["Z"]',
    'svc.auth.authorizer.Z.type': 'basic',
    'svc.escalator.type': 'basic',
    'svc.escalator.internalClientPassword': 'x',
    'svc.auth.unsecuredPaths': '["/status/selfDiscovered/*","/svc-internal/v1/open"]',
    ...more,
  })
  await context.serve({ routes: [explainRoute(context)] })
  const rawClient = { authenticators: { A: { asker: await hashPassword('pw') } } }
  const authorizer = { users: { asker: ['all'] }, roles: { all: readsAll }, groupMappings: {} }
  context.replaceUsers({ version: 1, ...rawClient, authorizers: { Z: authorizer, Y: authorizer } })
  return context
}

const [both, first] = [await startCoordinator(true), await startCoordinator(false)]
const apart = await startCoordinator(true, {
  'svc.auth.authorizers': '["Z","Y"]',
  'svc.auth.authorizer.Y.type': 'basic',
  'svc.auth.authenticator.B.authorizerName': 'Y',
})

before(async () => {
  const credentials = await hashPassword('pw')
  await saveAuthenticationUser(stores.database, 'A', 'of A', credentials)
  await saveAuthenticationUser(stores.database, 'B', 'of B', credentials)
  await addAuthenticationUser(stores.database, 'A', 'new')
  await saveAuthenticationUser(stores.database, 'A', 'svc_system', credentials)
  await saveUserWithRole(stores.database, 'Y', 'of A', 'all', readsAll)
  await saveUserWithRole(stores.database, 'Y', 'of B', 'all', readsAll)
  for (const name of ['of A', 'left']) await saveUserWithRole(stores.database, 'Z', name, 'all', readsAll)
})

const [anyLogin, needsRole, open] = ['/svc/indexer/v1/tasks', '/svc/coordinator/v1/config', '/status/health']

describe('the explanation of access', () => {
  for (const [user, path, context, allowed, because] of [
    ['of A', anyLogin, both, true, /^Any login is sufficient/],
    ['of A', needsRole, both, true, /^One of the user's roles grants/],
    ['of B', anyLogin, both, true, /^Any login is sufficient/],
    [
      'of B',
      anyLogin,
      first,
      false,
      /^\[of B\] cannot log in\. Authenticator \[A\] stores no password for \[of B\]; \[B\] did not check/,
    ],
    ['of B', needsRole, both, false, /^None of the user's roles grants/],
    ['new', anyLogin, both, false, /^\[new\] cannot log in/],
    [
      'nobody',
      anyLogin,
      both,
      false,
      /^\[nobody\] cannot log in\. Authenticator \[A\] stores no password .* and authenticator \[B\] stores/,
    ],
    ['left', needsRole, both, false, /^\[left\] cannot log in/],
    ['of A:1', needsRole, both, false, /cannot log in\. The user name .* ends at the first colon$/],
    [
      'x'.repeat(256),
      needsRole,
      both,
      false,
      /^\[x+\] cannot log in\. The user name has more than \[255\] characters$/,
    ],
    ['nobody', open, both, true, /requires no login/],
    ['nobody', '/status/selfDiscovered/status', both, true, /in \[svc.auth.unsecuredPaths\]/],
    [
      'of A',
      '/svc-internal/v1/segments',
      both,
      false,
      /Only servers may call this endpoint: the caller must be the internal user \[svc_system\]/,
    ],
    ['svc_system', '/svc-internal/v1/segments', both, true, /\[svc_system\] is the internal user/],
    ['svc_system', '/svc-internal/v1/open', both, false, /callers are not identified as servers/],
    ['of A', needsRole, apart, true, /^One of the user's roles grants/],
    [
      'of B',
      needsRole,
      apart,
      true,
      /^Authorizer \[Z\] does not apply.* uses authorizer \[Y\]\. One of the user's roles/,
    ],
  ] as const)
    it(`covers [${user.slice(0, 20)}] at ${path} when ${context === first ? 'only the first authenticator is' : 'both authenticators are'} tried${context === apart ? ' and have different authorizers' : ''}`, async () => {
      const query = new URLSearchParams({ user, path })
      const answer = await httpRequest(context.port, {
        path: `/svc-ext/basic-security/authorization/db/Z/explain?${query}`,
        headers: { Authorization: basicHeader('asker', 'pw') },
      })
      assert.equal(answer.status, 200, answer.text)
      const explanation = answer.json as { readonly allowed: boolean; readonly because: string }
      assert.equal(explanation.allowed, allowed)
      assert.match(explanation.because, because)
    })
})

it('uses the authorizer that decides, whichever authorizer is in the path', async () => {
  await saveUserWithRole(stores.database, 'Y', 'ann', 'all', readsAll)
  await saveAuthenticationUser(stores.database, 'A', 'ann', await hashPassword('pw'))
  const query = new URLSearchParams({ user: 'ann', path: needsRole })
  const answer = await httpRequest(apart.port, {
    path: `/svc-ext/basic-security/authorization/db/Y/explain?${query}`,
    headers: { Authorization: basicHeader('asker', 'pw') },
  })
  const explanation = answer.json as {
    readonly allowed: boolean
    readonly because: string
    readonly authorizer: string
  }
  assert.equal(explanation.allowed, false)
  assert.equal(explanation.authorizer, 'Z')
  assert.match(
    explanation.because,
    /^Authorizer \[Y\] does not apply: the user belongs to authenticator \[A\], which uses authorizer \[Z\]\. None of the user's roles/,
  )
})

it('says that a permission depends on the body, unless the user has it for all names or for none', async () => {
  const roles = { all: '.*', some: 'wiki.*', none: undefined }
  for (const [name, pattern] of Object.entries(roles)) {
    const permissions = pattern === undefined ? [] : [writes(pattern)]
    await saveUserWithRole(stores.database, 'Z', `${name} writer`, `writes ${name}`, permissions)
    await saveAuthenticationUser(stores.database, 'A', `${name} writer`, await hashPassword('pw'))
  }
  const explain = async (user: string) => {
    const query = new URLSearchParams({ user, path: '/svc/indexer/v1/task', method: 'POST' })
    const { json } = await httpRequest(both.port, {
      path: `/svc-ext/basic-security/authorization/db/Z/explain?${query}`,
      headers: { Authorization: basicHeader('asker', 'pw') },
    })
    const { allowed, because, permissions } = json as {
      readonly allowed: boolean | null
      readonly because: string
      readonly permissions: readonly { readonly grants: boolean | null }[]
    }
    return { allowed, because, grants: permissions.map(({ grants }) => grants) }
  }
  assert.deepEqual(await explain('all writer'), {
    allowed: true,
    because: "One of the user's roles grants [WRITE] on any [DATASOURCE]",
    grants: [true],
  })
  assert.deepEqual(await explain('some writer'), {
    allowed: null,
    because: 'The user needs [WRITE] on the datasource in the body',
    grants: [null],
  })
  assert.deepEqual(await explain('none writer'), {
    allowed: false,
    because: "None of the user's roles grants [WRITE] on any [DATASOURCE]",
    grants: [],
  })
})
