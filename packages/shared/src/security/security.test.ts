import assert from 'node:assert/strict'
import crypto, { hash, randomBytes, scryptSync } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { after, describe, it, mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Permission } from '@svc/domain/access'
import type { LoginThrottle } from '../login-throttle/index.ts'
import { testSettings } from '../testing/index.ts'
import {
  basicHeader,
  type Credentials,
  createEscalator,
  createSecurity,
  hashPassword,
  mayAccess,
  permittedNames,
  type SecurityOptions,
  type UsersAndRoles,
} from './index.ts'
import type { LdapLogins } from './ldap-logins.ts'

/** Counts hash computations, and still does them. */
const hashing = mock.method(crypto, 'scrypt')
syncBuiltinESMExports()
after(() => {
  hashing.mock.restore()
  syncBuiltinESMExports()
})

/** Stored credentials with a cheap hash. */
function cheap(password: string): Credentials {
  const parameters = { algorithm: 'scrypt', cost: 2, blockSize: 1, parallelization: 1 } as const
  const salt = randomBytes(16)
  const hash = scryptSync(password, salt, 32, { N: 2, r: 1, p: 1 })
  return { ...parameters, salt: salt.toString('base64'), hash: hash.toString('base64') }
}

const origin = { address: '192.0.2.7', server: '' }

interface Setup {
  readonly skipA?: boolean
  readonly properties?: Record<string, string>
  readonly options?: SecurityOptions
}

/** Returns the longest CPU time of a turn of the event loop, in microseconds, until something is finished. */
async function maxTurnTime(isFinished: () => boolean): Promise<number> {
  const microseconds: number[] = []
  while (!isFinished()) {
    const startedAt = process.threadCpuUsage()
    await nextTurn()
    const { user, system } = process.threadCpuUsage(startedAt)
    microseconds.push(user + system)
  }
  return Math.max(...microseconds)
}

/** Security with the chain A, B and the users of the test. */
function setUp(first: Partial<UsersAndRoles>, { skipA = false, properties = {}, options = {} }: Setup = {}) {
  const settings = testSettings('historical', {
    'svc.auth.authenticatorChain': '["A","B"]',
    ...Object.fromEntries(
      ['A', 'B'].flatMap((name) => [
        [`svc.auth.authenticator.${name}.type`, 'basic'],
        [`svc.auth.authenticator.${name}.authorizerName`, `authorizer${name}`],
        [`svc.auth.authorizer.authorizer${name}.type`, 'basic'],
      ]),
    ),
    'svc.auth.authenticator.A.skipOnFailure': String(skipA),
    'svc.auth.authorizers': '["authorizerA","authorizerB"]',
    'svc.escalator.type': 'basic',
    'svc.escalator.internalClientPassword': 'internal',
    ...properties,
  })
  let current: UsersAndRoles = { version: 1, authenticators: {}, authorizers: {}, ...first }
  const refused: string[] = []
  const security = createSecurity(
    settings,
    { current: () => current },
    {
      onRefused: (user, from, { reason }) =>
        refused.push(
          `${user} from ${from.address}${reason === 'FORBIDDEN_NETWORK' ? ', because of its network' : ''}`,
        ),
      ...options,
    },
  )
  const login = (user: string, password: string) => security.authenticate(basicHeader(user, password), origin)
  return {
    security,
    refused,
    login,
    /** Returns the authenticator that accepts the user, or `refused`. */
    outcome: async (user: string, password: string) => {
      const result = await login(user, password)
      return result.kind === 'known' ? result.caller.authenticator : result.kind
    },
    replace: (next: Partial<UsersAndRoles>) => {
      current = { ...current, version: current.version + 1, ...next }
    },
  }
}

/** Returns the number of hashes that the work computes. */
async function hashesOf(work: () => Promise<unknown>): Promise<number> {
  const before = hashing.mock.callCount()
  await work()
  return hashing.mock.callCount() - before
}

describe('a chain', () => {
  const inA = { right: cheap('a'), without: null }
  const inB = { right: cheap('b'), onlyB: cheap('b'), without: cheap('b') }
  const rows: readonly [name: string, user: string, password: string, skip: string, noSkip: string][] = [
    ['right in A', 'right', 'a', 'A', 'A'],
    ['unknown in A, right in B', 'onlyB', 'b', 'B', 'refused'],
    ['unknown in A, wrong in B', 'onlyB', 'x', 'refused', 'refused'],
    ['wrong in A, right in B', 'right', 'b', 'refused', 'refused'],
    ['known to A without a password, right in B', 'without', 'b', 'B', 'refused'],
    ['known to A without a password, wrong in B', 'without', 'x', 'refused', 'refused'],
    ['wrong everywhere', 'right', 'x', 'refused', 'refused'],
    ['unknown everywhere', 'nobody', 'x', 'refused', 'refused'],
  ]
  for (const [name, user, password, skip, noSkip] of rows) {
    for (const skipA of [true, false]) {
      it(`${name}, skipOnFailure ${skipA}: ${skipA ? skip : noSkip}`, async () => {
        const { outcome, refused } = setUp({ authenticators: { A: inA, B: inB } }, { skipA })
        const expected = skipA ? skip : noSkip
        assert.equal(await outcome(user, password), expected)
        assert.deepEqual(refused, expected === 'refused' ? [`${user} from 192.0.2.7`] : [])
      })
    }
  }

  it('rejects requests without credentials, and does not report them', async () => {
    const { security, refused } = setUp({ authenticators: { A: inA } })
    for (const header of [undefined, '', 'Bearer x', 'Basic', 'Basic !']) {
      const outcome = await security.authenticate(header, origin)
      assert.equal(outcome.kind === 'refused' && outcome.failure.reason, 'NO_CREDENTIALS')
    }
    assert.deepEqual(refused, [])
  })

  it('reports refused logins that are longer than any login, because they may be guesses at real names', async () => {
    const { outcome, refused } = setUp({ authenticators: { A: inA } })
    assert.equal(await outcome('right', 'x'.repeat(9000)), 'refused')
    assert.equal(await outcome('n'.repeat(5000), 'x'), 'refused')
    assert.deepEqual(refused, ['right from 192.0.2.7', `${'n'.repeat(5000)} from 192.0.2.7`])
  })

  const open = {
    'svc.auth.authenticatorChain': '["A","open"]',
    'svc.auth.authenticator.open.type': 'allowAll',
    'svc.auth.authenticator.open.authorizerName': 'authorizerA',
  }
  it('that ends with an open authenticator accepts unknown users, but no wrong passwords', async () => {
    const { outcome, security } = setUp({ authenticators: { A: inA } }, { skipA: true, properties: open })
    assert.equal(await outcome('nobody', 'x'), 'open')
    assert.equal(await outcome('right', 'x'), 'refused')
    const anyUser = await security.authenticate(undefined, origin)
    assert.ok(anyUser.kind === 'known')
    assert.equal(anyUser.caller.identity, 'open')
    assert.equal(security.isInternal(anyUser.caller), false)
  })

  it('is unavailable instead of rejecting callers while users and roles are missing', async () => {
    const settings = testSettings('router', {
      'svc.auth.authenticatorChain': '["A"]',
      'svc.auth.authenticator.A.type': 'basic',
      'svc.auth.authenticator.A.authorizerName': 'allowAll',
      'svc.escalator.type': 'basic',
      'svc.escalator.internalClientPassword': 'x',
    })
    const security = createSecurity(
      settings,
      { current: () => ({ missing: 'Not yet' }) },
      { onRefused: assert.fail },
    )
    const outcome = await security.authenticate(basicHeader('a', 'b'), origin)
    assert.deepEqual(outcome, {
      kind: 'unavailable',
      message: 'Not yet',
      failure: { reason: 'USERS_NOT_LOADED', because: 'Not yet', directory: [] },
    })
    assert.equal((await security.authenticate(undefined, origin)).kind, 'refused')
  })

  const specialNames = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length']
  it('has no users with the names of object properties', async () => {
    const { outcome } = setUp({ authenticators: { A: {}, B: {} } })
    for (const name of specialNames.slice(0, 3)) assert.equal(await outcome(name, 'x'), 'refused')
  })

  it('can have users with such names', async () => {
    const users = JSON.parse(
      `{${specialNames.map((name) => `${JSON.stringify(name)}:${JSON.stringify(cheap('p'))}`)}}`,
    )
    const { outcome } = setUp({ authenticators: { A: users } })
    for (const name of specialNames) {
      assert.equal(await outcome(name, 'p'), 'A')
      assert.equal(await outcome(name, 'x'), 'refused')
    }
  })

  it('distinguishes users by case, and passwords by every character', async () => {
    const { outcome } = setUp({ authenticators: { A: { Ann: cheap('Pä:ss word') } } })
    assert.equal(await outcome('Ann', 'Pä:ss word'), 'A')
    for (const [user, password] of [
      ['ann', 'Pä:ss word'],
      ['Ann', 'Pä:ss word '],
      ['Ann', 'pä:ss word'],
      ['Ann ', 'Pä:ss word'],
    ] as const)
      assert.equal(await outcome(user, password), 'refused')
  })
})

describe('a password', () => {
  const long = 'x'.repeat(65)
  const users = {
    A: { ann: cheap('password1'), long: cheap(long), tab: cheap('pass\tword'), odd: cheap('\ufffd') },
  }
  const header = (...parts: (string | Buffer)[]) =>
    `Basic ${Buffer.concat(parts.map((part) => Buffer.from(part))).toString('base64')}`
  const rows: readonly [name: string, header: string, kind: string][] = [
    ['as set', header('ann:password1'), 'known'],
    ['of more than 64 bytes', header('long:', long), 'known'],
    ['with a NUL at the end', header('ann:password1\0'), 'refused'],
    ['with 55 NULs at the end', header('ann:password1', Buffer.alloc(55)), 'refused'],
    ['that is the digest of a long one', header('long:', hash('sha256', long, 'buffer')), 'refused'],
    ['with a control character, even if it was set with one', header('tab:pass\tword'), 'refused'],
    ['of U+FFFD, as set', header('odd:\ufffd'), 'known'],
    ['of an invalid byte instead of U+FFFD', header('odd:', Buffer.from([0xff])), 'refused'],
  ]
  for (const [name, authorization, kind] of rows) {
    it(`${name} is ${kind} after computing one hash`, async () => {
      const { security } = setUp({ authenticators: users })
      const hashes = await hashesOf(async () =>
        assert.equal((await security.authenticate(authorization, origin)).kind, kind),
      )
      assert.equal(hashes, 1)
    })
  }
})

describe('a user name with control characters or invalid bytes', () => {
  for (const name of ['ann\0', 'an\tn', '\u0085ann', Buffer.from([0x61, 0xff])]) {
    it(`${JSON.stringify(name)} is rejected after computing one hash`, async () => {
      const { security, refused } = setUp({ authenticators: { A: { 'an\tn': cheap('p') } } })
      const header = `Basic ${Buffer.concat([Buffer.from(name), Buffer.from(':p')]).toString('base64')}`
      const hashes = await hashesOf(async () => {
        const outcome = await security.authenticate(header, origin)
        assert.equal(outcome.kind === 'refused' && outcome.failure.reason, 'UNKNOWN_USER')
      })
      assert.equal(hashes, 1)
      assert.equal(refused.length, 1)
    })
  }
})

describe('the reported name of a rejected login', () => {
  const stored = {
    authenticators: { A: { ann: cheap('p'), without: null }, B: { further: cheap('p') } },
    authorizers: { authorizerA: { users: { remote: [] }, roles: {}, groupMappings: {} } },
  }
  for (const [user, expected] of [
    ['ann', 'ann'],
    ['without', 'without'],
    ['further', 'further'],
    ['remote', 'remote'],
    ['svc_system', 'svc_system'],
    ['Ann', undefined],
    ['nobody', undefined],
    ['toString', undefined],
  ] as const) {
    it(`[${user}] is [${expected}], whether or not the password was verified`, async () => {
      const names: (string | undefined)[] = []
      let attempts = 0
      const throttle: LoginThrottle = {
        begin: async () => (attempts++ === 0 ? undefined : 60),
        succeeded: async () => undefined,
        undecided: async () => undefined,
      }
      const onRefused: SecurityOptions['onRefused'] = (_user, _origin, _reason, knownAs) =>
        names.push(knownAs)
      const { outcome } = setUp(stored, { options: { throttle, onRefused } })
      assert.equal(await outcome(user, 'wrong'), 'refused')
      assert.equal(await outcome(user, 'wrong'), 'throttled')
      assert.deepEqual(names, [expected, expected])
    })
  }
})

describe('the work of a login', () => {
  const users = { A: { known: cheap('p'), without: null }, B: { further: cheap('p') } }
  for (const skipA of [true, false]) {
    it(`is the same for every rejection, skipOnFailure ${skipA}`, async () => {
      const { outcome } = setUp({ authenticators: users }, { skipA })
      for (const user of ['known', 'without', 'further', 'unknown']) {
        const hashes = await hashesOf(async () => assert.equal(await outcome(user, 'wrong'), 'refused'))
        assert.equal(hashes, skipA ? 2 : 1, user)
      }
    })
  }

  it('is the same for an unknown user and a new password', async () => {
    const { outcome } = setUp({ authenticators: { A: {} } })
    const credentials = await hashPassword('p')
    const optionsOf = (call: number) => hashing.mock.calls.at(call)?.arguments[3] as object
    const ofNew = optionsOf(-1)
    await outcome('unknown', 'x')
    assert.deepEqual(optionsOf(-1), ofNew)
    const { cost, blockSize, parallelization } = credentials
    assert.ok(cost * blockSize * parallelization >= 2 ** 14 * 8 * 5)
  })

  it('is done once for a correct password, and every time for a wrong one', async () => {
    const { outcome } = setUp({ authenticators: users })
    await outcome('known', 'p')
    assert.equal(await hashesOf(() => outcome('known', 'p')), 0)
    assert.equal(await hashesOf(() => outcome('known', 'wrong')), 1)
    assert.equal(await hashesOf(() => outcome('known', 'wrong')), 1)
    assert.equal(await hashesOf(() => outcome('known', 'p')), 0)
  })

  it('is shared by concurrent requests', async () => {
    const { outcome } = setUp({ authenticators: users })
    const hashes = await hashesOf(async () => {
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => outcome('known', 'p')))
      assert.deepEqual(new Set(outcomes), new Set(['A']))
    })
    assert.equal(hashes, 1)
  })

  it('is shared by concurrent guesses, which are all reported', async () => {
    const { outcome, refused } = setUp({ authenticators: users })
    const hashes = await hashesOf(async () => {
      await Promise.all(Array.from({ length: 20 }, () => outcome('known', 'wrong')))
    })
    assert.equal(hashes, 1)
    assert.equal(refused.length, 20)
  })

  it('is limited, and guesses at users beyond the limit are reported', async () => {
    const reasons: string[] = []
    const onRefused: SecurityOptions['onRefused'] = (user, _origin, { reason }) =>
      reasons.push(`${user} ${reason}`)
    const { outcome } = setUp({ authenticators: users }, { options: { onRefused } })
    await Promise.allSettled(Array.from({ length: 100 }, (_, guess) => outcome('known', `${guess}`)))
    assert.equal(reasons.length, 100)
    assert.deepEqual(new Set(reasons), new Set(['known WRONG_PASSWORD', 'known TOO_MANY_LOGINS']))
  })

  it('is limited during a flood of guesses, and recovers', async () => {
    const { outcome } = setUp({ authenticators: users })
    const guesses = await Promise.allSettled(
      Array.from({ length: 200 }, (_, guess) => outcome('known', `guess ${guess}`)),
    )
    const turnedAway = guesses.filter((one) => one.status === 'rejected')
    assert.ok(turnedAway.length > 0 && turnedAway.length < 200)
    for (const { reason } of turnedAway) assert.equal(reason.code, 'unavailable')
    for (const one of guesses) if (one.status === 'fulfilled') assert.equal(one.value, 'refused')
    assert.equal(await outcome('known', 'p'), 'A')
  })

  /** Starts logins that are abandoned when `leave` is called. */
  const flood = (security: ReturnType<typeof setUp>['security'], logins: readonly string[]) => {
    const caller = new AbortController()
    let answered = 0
    const all = logins.map(async (name, index) => {
      const from = { ...origin, leaving: () => caller.signal }
      await security.authenticate(basicHeader(name, `guess ${index}`), from)
      answered += 1
    })
    const over = Promise.allSettled(all)
    return {
      answered: () => answered,
      leave: async () => {
        caller.abort()
        await over
      },
    }
  }
  const unknownNames = Array.from({ length: 60 }, (_, index) => `nobody ${index}`)

  it('of a correct password does not wait for a flood of unknown names from the same address', async () => {
    const { security, outcome } = setUp({ authenticators: users })
    const names = flood(security, unknownNames)
    assert.equal(await outcome('known', 'p'), 'A')
    assert.ok(names.answered() < 5, `${names.answered()}`)
    await names.leave()
  })

  it('of a wrong password takes as long as that of an unknown name during a flood of unknown names', async () => {
    const { outcome } = setUp({ authenticators: users })
    const order: string[] = []
    const guess = async (name: string) => {
      assert.equal(await outcome(name, 'wrong'), 'refused')
      order.push(name)
    }
    const guesses: Promise<void>[] = []
    for (const name of ['nobody 1', 'nobody 2', 'known', 'nobody 3']) {
      guesses.push(guess(name))
      await new Promise(setImmediate)
    }
    await Promise.all(guesses)
    assert.deepEqual(order, ['nobody 1', 'nobody 2', 'known', 'nobody 3'])
  })

  it('waits for one hash of another address with many guesses', async () => {
    const { security } = setUp({ authenticators: users })
    const names = flood(security, unknownNames)
    await security.authenticate(basicHeader('nobody', 'x'), { ...origin, address: '192.0.2.66' })
    assert.ok(names.answered() < 5, `${names.answered()}`)
    await names.leave()
  })

  it('is not done for callers that have disconnected, unless others wait for it', async () => {
    const { security, login } = setUp({ authenticators: users })
    const hashes = await hashesOf(async () => {
      const first = login('nobody', 'x')
      const names = flood(security, unknownNames)
      const shared = login('nobody 1', 'guess 1')
      await names.leave()
      await Promise.all([first, shared])
    })
    assert.equal(hashes, 2)
  })

  it('is cached for the latest thousand logins only', async () => {
    const many = Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`u${index}`, users.A.known]))
    const { outcome } = setUp({ authenticators: { A: many } })
    for (const user of Object.keys(many)) await outcome(user, 'p')
    assert.equal(await hashesOf(() => outcome('u1000', 'p')), 0)
    assert.equal(await hashesOf(() => outcome('u1', 'p')), 0)
    assert.equal(await hashesOf(() => outcome('u0', 'p')), 1)
  })
})

describe('a successful login', () => {
  it('fails after the password has changed', async () => {
    const { outcome, replace } = setUp({ authenticators: { A: { ann: cheap('old') } } })
    assert.equal(await outcome('ann', 'old'), 'A')
    replace({ authenticators: { A: { ann: cheap('new') } } })
    assert.equal(await outcome('ann', 'old'), 'refused')
    assert.equal(await outcome('ann', 'new'), 'A')
    assert.equal(await outcome('ann', 'old'), 'refused')
  })

  it('fails after the user was deleted, lost its password, or was created again', async () => {
    const { outcome, replace } = setUp({ authenticators: { A: { ann: cheap('old') } } })
    assert.equal(await outcome('ann', 'old'), 'A')
    replace({ authenticators: { A: {} } })
    assert.equal(await outcome('ann', 'old'), 'refused')
    replace({ authenticators: { A: { ann: null } } })
    assert.equal(await outcome('ann', 'old'), 'refused')
    replace({ authenticators: { A: { ann: cheap('other') } } })
    assert.equal(await outcome('ann', 'old'), 'refused')
  })

  it('does not succeed if the password changes during the verification', async () => {
    const slow = await hashPassword('old')
    const { outcome, replace } = setUp({ authenticators: { A: { ann: slow } } })
    const before = outcome('ann', 'old')
    replace({ authenticators: { A: { ann: cheap('new') } } })
    const during = outcome('ann', 'old')
    await before
    assert.equal(await during, 'refused')
    assert.equal(await outcome('ann', 'old'), 'refused')
    assert.equal(await outcome('ann', 'new'), 'A')
  })

  it('has the current permissions', async () => {
    const role = (name: string): Permission[] => [{ resource: { type: 'DATASOURCE', name }, action: 'READ' }]
    const authorizer = (name: string) => ({
      authorizerA: { users: { ann: ['role'] }, roles: { role: role(name) }, groupMappings: {} },
    })
    const { login, replace } = setUp({
      authenticators: { A: { ann: cheap('p') } },
      authorizers: authorizer('wiki'),
    })
    const mayRead = async (name: string) => {
      const result = await login('ann', 'p')
      return result.kind === 'known' && (await mayAccess(result.caller, name))
    }
    assert.deepEqual([await mayRead('wiki'), await mayRead('koalas')], [true, false])
    replace({ authorizers: authorizer('koalas') })
    assert.deepEqual([await mayRead('wiki'), await mayRead('koalas')], [false, true])
    replace({ authorizers: {} })
    assert.deepEqual([await mayRead('wiki'), await mayRead('koalas')], [false, false])
  })
})

describe('a cached login', () => {
  it('is reported with each use, and as verified once per address', async () => {
    const events: string[] = []
    const { security, login } = setUp(
      { authenticators: { A: { ann: cheap('p') } } },
      {
        options: {
          onLogin: ({ identity }, { address }) => events.push(`${identity} verified from ${address}`),
          onUse: ({ identity }, { address }) => events.push(`${identity} from ${address}`),
        },
      },
    )
    await login('ann', 'wrong')
    await login('ann', 'p')
    await login('ann', 'p')
    await security.authenticate(basicHeader('ann', 'p'), { address: '192.0.2.9', server: '' })
    assert.deepEqual(events, [
      'ann verified from 192.0.2.7',
      'ann from 192.0.2.7',
      'ann verified from 192.0.2.9',
    ])
  })
})

describe('a throttle', () => {
  /** A throttle that rejects some addresses and records its calls. */
  const setUpThrottle = (
    refuses: (address: string) => boolean,
    users = { A: { ann: cheap('p') } },
    setup: Setup = {},
  ) => {
    const calls: string[] = []
    const digests = new Set<string>()
    const throttle: LoginThrottle = {
      begin: async ({ user, address, digest }) => {
        calls.push(`begin ${user} ${address}`)
        digests.add(digest)
        return refuses(address) ? 5 : undefined
      },
      succeeded: async ({ user, address }) => {
        calls.push(`succeeded ${user} ${address}`)
      },
      undecided: async ({ user, address }) => {
        calls.push(`undecided ${user} ${address}`)
      },
    }
    const reasons: string[] = []
    const { security } = setUp(
      { authenticators: users },
      {
        ...setup,
        options: {
          throttle,
          onRefused: (user, { address }, { reason }) => reasons.push(`${user} ${address} ${reason}`),
          ...setup.options,
        },
      },
    )
    const login = (user: string, password: string, address: string, signal?: AbortSignal) =>
      security.authenticate(basicHeader(user, password), {
        address,
        server: '',
        ...(signal ? { leaving: () => signal } : {}),
      })
    /** Checks that the only login of a user from an address, such as `ann 192.0.2.7`, counted and was reported. */
    const assertWrongGuess = (by: string): void => {
      assert.deepEqual(
        calls.filter((call) => call.endsWith(by)),
        [`begin ${by}`],
      )
      assert.deepEqual(
        reasons.filter((reason) => reason.startsWith(by.split(' ')[0]!)),
        [`${by} WRONG_PASSWORD`],
      )
    }
    return { login, calls, reasons, digests, assertWrongGuess }
  }

  it('counts each guess, and receives successful logins', async () => {
    const { login, calls, digests } = setUpThrottle(() => false)
    for (const password of ['x', 'y', 'y', 'p']) await login('ann', password, '192.0.2.7')
    await login(' ANN', 'x', '192.0.2.7')
    await login('ann', 'p', '192.0.2.7')
    assert.deepEqual(calls, [
      ...Array.from({ length: 4 }, () => 'begin ann 192.0.2.7'),
      'succeeded ann 192.0.2.7',
      'begin ann 192.0.2.7',
    ])
    assert.equal(digests.size, 3, 'one for each password, which it does not reveal')
    for (const digest of digests) assert.ok(digest.length > 20)
  })

  it('rejects before anything is verified, and reports the rejection with its address', async () => {
    const { login, reasons, calls } = setUpThrottle(() => true)
    const hashes = await hashesOf(async () => {
      for (const user of ['ann', 'unknown'])
        assert.deepEqual(await login(user, 'p', '192.0.2.7'), {
          kind: 'throttled',
          retryAfterSeconds: 5,
          failure: {
            reason: 'TOO_MANY_FAILURES',
            because: `Too many logins had failed for [${user}] or from this address, so the password was not checked; the next attempt was possible after [5] seconds ([svc.auth.throttle.failures], [svc.auth.throttle.delay])`,
            directory: [],
          },
        })
    })
    assert.equal(hashes, 0)
    assert.deepEqual(reasons, ['ann 192.0.2.7 TOO_MANY_FAILURES', 'unknown 192.0.2.7 TOO_MANY_FAILURES'])
    assert.ok(!calls.some((call) => call.startsWith('undecided') || call.startsWith('succeeded')))
  })

  it('counts a cached password as a guess from a new address', async () => {
    const { login } = setUpThrottle((address) => address === '192.0.2.66')
    assert.equal((await login('ann', 'p', '192.0.2.7')).kind, 'known')
    assert.equal((await login('ann', 'p', '192.0.2.66')).kind, 'throttled')
    assert.equal((await login('ann', 'p', '192.0.2.7')).kind, 'known')
  })

  it('does not count logins that could not be verified', async () => {
    const { login, calls } = setUpThrottle(() => false)
    const guesses = await Promise.allSettled(
      Array.from({ length: 200 }, (_, guess) => login('ann', `guess ${guess}`, '192.0.2.7')),
    )
    const turnedAway = guesses.filter(({ status }) => status === 'rejected').length
    assert.ok(turnedAway > 0)
    assert.equal(calls.filter((call) => call === 'undecided ann 192.0.2.7').length, turnedAway)
  })

  it('counts and reports a guess whose caller disconnects before the rejection', async () => {
    const { login, assertWrongGuess } = setUpThrottle(() => false)
    const flood = Array.from({ length: 3 }, (_, index) => login(`nobody ${index}`, 'x', '192.0.2.7'))
    await nextTurn()
    const caller = new AbortController()
    let isAnswered = false
    const guess = login('ann', 'x', '192.0.2.7', caller.signal).finally(() => {
      isAnswered = true
    })
    // The hash of this login is computed after that of the guess.
    assert.equal((await login('ann', 'p', '192.0.2.8')).kind, 'known')
    assert.ok(!isAnswered)
    caller.abort()
    await Promise.allSettled([guess, ...flood])
    assertWrongGuess('ann 192.0.2.7')
  })

  it('counts an unverified login whose caller disconnects, so that the count does not reveal which users exist', async () => {
    const { login, calls } = setUpThrottle(() => false)
    const flood = Array.from({ length: 3 }, (_, index) => login(`nobody ${index}`, 'x', '192.0.2.7'))
    await nextTurn()
    const caller = new AbortController()
    const names = ['ann', 'unknown']
    const left = names.map((name) => login(name, 'x', '192.0.2.7', caller.signal))
    caller.abort()
    await Promise.allSettled([...left, ...flood])
    assert.ok(!calls.some((call) => call.startsWith('undecided')), calls.join())
  })

  it('counts and reports a guess that a directory rejects while too many logins are waiting', async () => {
    const verdict = { kind: 'wrong', identity: 'bob' } as const
    const directory: LdapLogins = {
      remembered: () => undefined,
      foundAs: () => undefined,
      find: async () => ({ kind: 'unknown' }),
      verify: async (user, _password, countAttempt = async () => undefined) =>
        user === 'bob' && (await countAttempt('bob')) === undefined ? verdict : { kind: 'unknown' },
    }
    const { login, assertWrongGuess } = setUpThrottle(
      () => false,
      { A: { ann: cheap('p') } },
      {
        skipA: true,
        properties: {
          'svc.auth.authenticator.B.credentialsValidator.type': 'ldap',
          'svc.auth.authenticator.B.credentialsValidator.url': 'ldap://127.0.0.1:389',
          'svc.auth.authenticator.B.credentialsValidator.baseDn': 'dc=example,dc=org',
        },
        options: { directories: new Map([['B', directory]]) },
      },
    )
    const flood = Array.from({ length: 65 }, (_, index) => login('ann', `guess ${index}`, '192.0.2.7'))
    await nextTurn()
    const result = await login('bob', 'x', '192.0.2.7')
    await Promise.allSettled(flood)
    assert.equal(result.kind, 'unavailable')
    assertWrongGuess('bob 192.0.2.7')
  })

  it('never throttles the login of this server', async () => {
    const { login, calls } = setUpThrottle(() => true, { A: { svc_system: cheap('internal') } } as never)
    assert.equal((await login('svc_system', 'internal', '192.0.2.7')).kind, 'known')
    assert.equal((await login('svc_system', 'guess', '192.0.2.7')).kind, 'throttled')
    assert.deepEqual(calls, ['begin svc_system 192.0.2.7'])
  })
})

describe('a caller', () => {
  const read = (name: string): Permission => ({ resource: { type: 'DATASOURCE', name }, action: 'READ' })
  const stored = {
    authenticators: {
      A: { ann: cheap('p'), bob: cheap('p'), constructor: cheap('p') },
      B: { ann2: cheap('p') },
    },
    authorizers: {
      authorizerA: {
        users: { ann: ['one', 'two', 'gone', 'constructor'], eve: ['one'] },
        roles: { one: [read('wiki')], two: [read('koala.*')] },
        groupMappings: {},
      },
      authorizerB: { users: { ann2: ['all'] }, roles: { all: [read('.*')] }, groupMappings: {} },
    },
  }
  const callerOf = async (user: string, setup: Setup = {}) => {
    const result = await setUp(stored, { skipA: true, ...setup }).login(user, 'p')
    assert.equal(result.kind, 'known')
    return result.kind === 'known' ? result.caller : assert.fail()
  }

  it('has the permissions of all its roles', async () => {
    const ann = await callerOf('ann')
    assert.equal(await mayAccess(ann, 'wiki'), true)
    assert.equal(await mayAccess(ann, 'koalas'), true)
    assert.equal(await mayAccess(ann, 'flights'), false)
    assert.equal(await mayAccess(ann, 'wiki', 'WRITE'), false)
    assert.equal(ann.can('READ', 'VIEW', 'wiki'), false)
  })

  it('has no permissions if the authorizer does not know it', async () => {
    for (const user of ['bob', 'constructor'])
      assert.equal(await mayAccess(await callerOf(user), 'wiki'), false)
  })

  it('has the permissions of the authorizer of its authenticator', async () => {
    assert.equal(await mayAccess(await callerOf('ann2'), 'flights'), true)
  })

  it('may do everything with an allowAll authorizer', async () => {
    const all = await callerOf('bob', { properties: { 'svc.auth.authorizer.authorizerA.type': 'allowAll' } })
    assert.equal(all.can('WRITE', 'CONFIG', 'security'), true)
  })

  it('with thousands of expensive permissions delays other work only briefly, and is created once', async () => {
    const roles = Object.fromEntries(
      Array.from({ length: 20 }, (_, role) => [
        `role ${role}`,
        Array.from({ length: 800 }, (_, index) => read(`(a|aa)+${role}.${index}`)),
      ]),
    )
    const users = { ann: Object.keys(roles) }
    const { security } = setUp({
      ...stored,
      authorizers: { authorizerA: { users, roles, groupMappings: {} } },
    })
    const firstRequest = async (address: string) => {
      const result = await security.authenticate(basicHeader('ann', 'p'), { ...origin, address })
      assert.ok(result.kind === 'known')
      assert.equal(await mayAccess(result.caller, 'wiki'), false)
      return result.caller
    }
    let isFinished = false
    const requests = Promise.all(['192.0.2.7', '192.0.2.8'].map(firstRequest)).finally(() => {
      isFinished = true
    })
    const longest = await maxTurnTime(() => isFinished)
    const [first, second] = await requests
    assert.equal(first, second)
    assert.equal(await mayAccess(first!, 'aa19.799'), true)
    assert.ok(longest < 200_000, `${longest} microseconds`)
  })

  it('with thousands of expensive permissions delays other work only briefly while a long list is filtered, and remembers the result', async () => {
    const patterns = Array.from({ length: 800 }, (_, index) => read(`(a|aa)+.${index}`))
    const authorizerA = { users: { ann: ['one'] }, roles: { one: [...patterns, read('wiki.*1')] } }
    const authorizers = { authorizerA: { ...authorizerA, groupMappings: {} } }
    const result = await setUp({ ...stored, authorizers }).login('ann', 'p')
    const caller = result.kind === 'known' ? result.caller : assert.fail()
    const names = Array.from({ length: 1000 }, (_, index) => `wiki ${'a'.repeat(20)} ${index}`)
    let isFinished = false
    const filtered = permittedNames(caller, names).finally(() => {
      isFinished = true
    })
    const longest = await maxTurnTime(() => isFinished)
    assert.equal((await filtered).length, 100)
    assert.ok(longest < 50_000, `${longest} microseconds`)
    const startedAt = process.threadCpuUsage()
    const visible = await permittedNames(caller, names)
    const { user, system } = process.threadCpuUsage(startedAt)
    assert.equal(visible.length, 100)
    assert.ok(user + system < 50_000, `${user + system} microseconds`)
  })

  it('with thousands of expensive permissions delays other work only briefly, whatever happens at the same time', async () => {
    const one = Array.from({ length: 1000 }, (_, index) => read(`wiki.*(a|aa)+.x${index}`))
    const authorizers = { authorizerA: { users: { ann: ['one'] }, roles: { one }, groupMappings: {} } }
    const { login, replace } = setUp({ ...stored, authorizers })
    const result = await login('ann', 'p')
    const caller = result.kind === 'known' ? result.caller : assert.fail()
    const names = Array.from({ length: 24 }, (_, index) => `wiki ${'a'.repeat(200)} ${index}`)
    let isFinished = false
    const requests = nextTurn()
      .then(() =>
        Promise.all([
          ...names.slice(0, 12).map((name) => mayAccess(caller, name)),
          permittedNames(caller, names.slice(12)),
        ]),
      )
      .finally(() => {
        isFinished = true
      })
    // Forgets all decisions.
    setTimeout(() => {
      replace({ authorizers })
      login('ann', 'p')
    }, 200)
    const longest = await maxTurnTime(() => isFinished)
    assert.deepEqual(new Set((await requests).flat()), new Set([false]))
    assert.ok(longest < 50_000, `${longest} microseconds`)
  })

  it('is internal only as the internal user', async () => {
    const users = { svc_system: cheap('p'), admin: cheap('p') }
    const { login, security } = setUp({ authenticators: { A: users } })
    for (const [user, expected] of [
      ['svc_system', true],
      ['admin', false],
    ] as const) {
      const result = await login(user, 'p')
      assert.equal(result.kind === 'known' && security.isInternal(result.caller), expected)
    }
    assert.equal(security.isInternal(security.anonymousCaller), false)
  })
})

describe('the internal user', () => {
  const users = { svc_system: cheap('p'), admin: cheap('p') }
  const networks = '["10.0.0.0/8","fd00::/8","192.0.2.9"]'
  const rows: readonly [address: string, isAccepted: boolean][] = [
    ['10.1.2.3', true],
    ['192.0.2.9', true],
    ['fd00::7', true],
    ['192.0.2.8', false],
    ['11.0.0.1', false],
    ['fe80::1', false],
    ['', false],
  ]
  for (const [address, isAccepted] of rows) {
    it(`is ${isAccepted ? 'accepted' : 'rejected'} from [${address}] with allowed networks, which do not apply to other users`, async () => {
      const properties = { 'svc.auth.internalClientAllowedNetworks': networks }
      const { security, refused } = setUp({ authenticators: { A: users } }, { properties })
      const from = { address, server: '' }
      // Twice, because a cached login must also be rejected.
      for (let time = 0; time < 2; time++) {
        const internal = await security.authenticate(basicHeader('svc_system', 'p'), from)
        assert.equal(internal.kind, isAccepted ? 'known' : 'refused')
      }
      assert.equal((await security.authenticate(basicHeader('admin', 'p'), from)).kind, 'known')
      const refusal = `svc_system from ${address}, because of its network`
      assert.deepEqual(refused, isAccepted ? [] : [refusal, refusal])
    })
  }

  for (const [address, peer, isAccepted] of [
    ['10.1.2.3', '10.1.2.4', true],
    ['10.1.2.3', '192.0.2.8', false],
    ['192.0.2.8', '10.1.2.3', false],
  ] as const) {
    it(`is ${isAccepted ? 'accepted' : 'rejected'} from [${address}] through a router at [${peer}]`, async () => {
      const properties = { 'svc.auth.internalClientAllowedNetworks': networks }
      const { security } = setUp({ authenticators: { A: users } }, { properties })
      const internal = await security.authenticate(basicHeader('svc_system', 'p'), {
        address,
        peer,
        server: '',
      })
      assert.equal(internal.kind, isAccepted ? 'known' : 'refused')
    })
  }

  it('is accepted from anywhere without allowed networks', async () => {
    const { login } = setUp({ authenticators: { A: users } })
    assert.equal((await login('svc_system', 'p')).kind, 'known')
  })
})

describe('a path without a login', () => {
  const paths = '["/status/health","/svc/open/*"]'
  const rows: readonly [path: string, isOpen: boolean][] = [
    ['/status/health', true],
    ['/status/health/', false],
    ['/status', false],
    ['/svc/open', true],
    ['/svc/open/', true],
    ['/svc/open/a/b', true],
    ['/svc/opener', false],
    ['/SVC/open/a', false],
    ['/svc/%6fpen/a', false],
    ['/x/svc/open/a', false],
  ]
  for (const [path, isOpen] of rows) {
    it(`${isOpen ? 'includes' : 'does not include'} ${path}`, () => {
      const { security } = setUp({}, { properties: { 'svc.auth.unsecuredPaths': paths } })
      const caller = security.unsecured(path)
      assert.equal(caller !== undefined, isOpen)
      // Such a caller is never internal.
      if (caller) assert.equal(security.isInternal(caller), false)
    })
  }

  it('must be configured, and so must OPTIONS', () => {
    const { security } = setUp({})
    assert.equal(security.unsecured('/status/health'), undefined)
    assert.equal(security.openOptions, false)
    const open = setUp({}, { properties: { 'svc.auth.allowUnauthenticatedHttpOptions': 'true' } })
    assert.equal(open.security.openOptions, true)
  })
})

describe('the escalator', () => {
  it('sends no header if no login is required', () => {
    assert.equal(createEscalator(testSettings('router')).header(), undefined)
  })

  it('logs in as the internal user', () => {
    const settings = testSettings('router', {
      'svc.escalator.type': 'basic',
      'svc.escalator.internalClientUsername': 'inner',
      'svc.escalator.internalClientPassword': 'pä:ss',
    })
    assert.equal(createEscalator(settings).header(), `Basic ${Buffer.from('inner:pä:ss').toString('base64')}`)
  })
})
