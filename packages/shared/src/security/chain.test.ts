import assert from 'node:assert/strict'
import crypto, { randomBytes, scrypt, scryptSync } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { after, it, mock } from 'node:test'
import type { LoginVerdict } from '@svc/domain/access'
import fc from 'fast-check'
import { testSettings } from '../testing/index.ts'
import {
  basicHeader,
  type Credentials,
  createSecurity,
  type LdapLogins,
  recognize,
  type UsersAndRoles,
} from './index.ts'

// Rejections compute expensive hashes for unknown users: make them cheap.
const cheap = { N: 2, r: 1, p: 1 }
const originalScrypt = scrypt
const hashing = mock.method(crypto, 'scrypt', (...[text, salt, length, , done]: Parameters<typeof scrypt>) =>
  originalScrypt(text, salt, length, cheap, done),
)
syncBuiltinESMExports()
after(() => {
  hashing.mock.restore()
  syncBuiltinESMExports()
})

const password = 'right'
const origin = { address: '192.0.2.7', server: '' }

/** Stored credentials with a cheap hash. */
function cheapCredentials(): Credentials {
  const salt = randomBytes(16)
  const hash = scryptSync(password, salt, 32, cheap)
  const parameters = { algorithm: 'scrypt', cost: 2, blockSize: 1, parallelization: 1 } as const
  return { ...parameters, salt: salt.toString('base64'), hash: hash.toString('base64') }
}
const credentials = cheapCredentials()

const tooLong = 'x'.repeat(256)
// Few names, so that authenticators often know the same user. Directories ignore case.
const names = ['ann', 'Ann', 'ANN', 'bob', 'Bob', 'svc_system', 'SVC_SYSTEM', 'an\tn', tooLong] as const
const name = fc.constantFrom(...names)

interface StoredMember {
  readonly kind: 'stored'
  readonly withPassword: readonly string[]
  readonly without: readonly string[]
}

interface DirectoryMember {
  readonly kind: 'directory'
  readonly isAvailable: boolean
  readonly identities: readonly (readonly [typed: string, identity: string])[]
}

type Member = (StoredMember | DirectoryMember | { readonly kind: 'everyone' }) & {
  readonly skipOnFailure: boolean
}

const skipOnFailure = fc.boolean()
const member: fc.Arbitrary<Member> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('stored' as const),
      skipOnFailure,
      withPassword: fc.uniqueArray(name, { maxLength: 3 }),
      without: fc.uniqueArray(name, { maxLength: 2 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('directory' as const),
      skipOnFailure,
      isAvailable: fc.boolean(),
      identities: fc.uniqueArray(fc.tuple(name, name), { maxLength: 5, selector: ([typed]) => typed }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('everyone' as const), skipOnFailure }) },
)

/** A directory in which every user has the right password. */
function fakeDirectory({ identities, isAvailable }: DirectoryMember): LdapLogins {
  const found = new Map(identities)
  const verdicts = new Map<string, LoginVerdict>()
  const groupsOf = (identity: string) => [`cn=${identity}`]
  return {
    remembered: (user, typed) => verdicts.get(`${user} ${typed}`),
    verify: async (user, typed) => {
      if (!isAvailable) return { kind: 'unavailable', message: 'No response' }
      const identity = found.get(user)
      const verdict: LoginVerdict =
        identity === undefined
          ? { kind: 'unknown' }
          : typed === password
            ? { kind: 'known', identity, groups: groupsOf(identity) }
            : { kind: 'wrong', identity }
      if (verdict.kind !== 'wrong') verdicts.set(`${user} ${typed}`, verdict)
      return verdict
    },
    foundAs: () => undefined,
    find: async (user) => {
      if (!isAvailable) return { kind: 'unavailable', message: 'No response' }
      const identity = found.get(user)
      return identity === undefined
        ? { kind: 'unknown' }
        : { kind: 'known', identity, groups: groupsOf(identity) }
    },
  }
}

/** Security with authenticators named by their position. */
function setUp(members: readonly Member[]) {
  const settings = testSettings('coordinator', {
    'svc.auth.authenticatorChain': JSON.stringify(members.map((_, position) => `A${position}`)),
    ...Object.fromEntries(
      members.flatMap(({ kind, skipOnFailure: skips }, position) => [
        [`svc.auth.authenticator.A${position}.type`, kind === 'everyone' ? 'allowAll' : 'basic'],
        [`svc.auth.authenticator.A${position}.authorizerName`, 'Z'],
        ...(kind === 'everyone'
          ? []
          : [[`svc.auth.authenticator.A${position}.skipOnFailure`, String(skips)]]),
        ...(kind === 'directory'
          ? [
              ['type', 'ldap'],
              ['url', 'ldap://directory.test'],
              ['baseDn', 'dc=test'],
            ].map(([property, value]) => [
              `svc.auth.authenticator.A${position}.credentialsValidator.${property}`,
              value,
            ])
          : []),
      ]),
    ),
    'svc.auth.authorizers': '["Z"]',
    'svc.auth.authorizer.Z.type': 'basic',
    'svc.escalator.type': 'basic',
    'svc.escalator.internalClientPassword': password,
  })
  const current: UsersAndRoles = {
    version: 1,
    authenticators: Object.fromEntries(
      members.flatMap((one, position) =>
        one.kind === 'stored'
          ? [
              [
                `A${position}`,
                Object.fromEntries([
                  ...one.without.map((user) => [user, null]),
                  ...one.withPassword.map((user) => [user, credentials]),
                ]),
              ],
            ]
          : [],
      ),
    ),
    authorizers: {},
  }
  const directories = new Map(
    members.flatMap((one, position) =>
      one.kind === 'directory' ? [[`A${position}`, fakeDirectory(one)] as const] : [],
    ),
  )
  let cachedUses = 0
  const security = createSecurity(
    settings,
    { current: () => current },
    {
      directories,
      onUse: () => {
        cachedUses += 1
      },
    },
  )
  /** Returns whose login it is, or why it failed. */
  const login = async (user: string, typed: string) => {
    const result = await security.authenticate(basicHeader(user, typed), origin)
    if (result.kind !== 'known') return { kind: result.kind }
    const { authenticator, identity, groups } = result.caller
    return { kind: result.kind, authenticator, identity, groups }
  }
  return {
    login,
    cachedUses: () => cachedUses,
    recognized: (user: string) => recognize(settings, directories, current, user),
  }
}

it('a verified login, a cached login, and a recognized user have the same outcome', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(member, { minLength: 1, maxLength: 4 }), name, async (members, user) => {
      const { login, cachedUses, recognized } = setUp(members)
      const verified = await login(user, password)

      const { kind, ...who } = await recognized(user)
      const asRefused = kind === 'hidden' || kind === 'unknown' || kind === 'unchecked'
      assert.deepEqual(
        verified,
        kind === 'known' ? { kind, ...who } : { kind: asRefused ? 'refused' : kind },
        'recognized',
      )

      assert.deepEqual(await login(user, password), verified, 'again')
      const isByPassword =
        verified.kind === 'known' && members[Number(verified.authenticator?.slice(1))]?.kind !== 'everyone'
      const areAvailable = members.every((one) => one.kind !== 'directory' || one.isAvailable)
      if (areAvailable) assert.equal(cachedUses(), isByPassword ? 1 : 0)

      if (isByPassword) assert.notEqual((await login(user, 'wrong')).kind, 'known')
    }),
    { numRuns: 500 },
  )
})

it('does not look up users whose names a login cannot have', async () => {
  for (const user of [tooLong, 'ann:1']) {
    const identities = [[user, 'ann']] as never
    const members = [{ kind: 'directory', isAvailable: true, skipOnFailure: false, identities }] as const
    const { login, recognized } = setUp(members)
    assert.equal((await recognized(user)).kind, 'unchecked')
    assert.equal((await login(user, password)).kind, 'refused')
  }
})
