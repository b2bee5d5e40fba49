// Logins of directory users follow the directory: a real OpenLDAP with the memberOf overlay, with and without
// TLS, and the embedded directory of demos.
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { after, describe, test } from 'node:test'
import { sampleDirectory, startDirectory } from '@svc/cli/ldap'
import { loadSettings } from '@svc/shared/config'
import { openLoginThrottle } from '@svc/shared/login-throttle'
import {
  basicHeader,
  createSecurity,
  hashPassword,
  type LdapLogins,
  LdapTrace,
  mayAccess,
  openLdapLogins,
  type UsersAndRoles,
} from '@svc/shared/security'
import { createTestStores, injectedNames, waitUntil } from '@svc/shared/testing'
import { createCertificate, startSlapd, suffix } from './support/slapd.ts'
import { newTestFolder, removeTestFolder } from './support/test-folder.ts'

const folder = newTestFolder()
after(() => removeTestFolder(folder))

const person = (
  uid: string,
  password = `${uid}-password`,
) => `dn: uid=${uid.replace('*', '\\2a')},ou=users,${suffix}
objectClass: inetOrgPerson
uid: ${uid}
cn: ${uid}
sn: ${uid}
userPassword: ${password}`

const ldif = `dn: ${suffix}
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: ou=users,${suffix}
objectClass: organizationalUnit
ou: users

dn: ou=groups,${suffix}
objectClass: organizationalUnit
ou: groups

dn: cn=search,${suffix}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: search
userPassword: search-secret

${['alice', 'bob', 'carol', 'st*ar', 'admin', 'svc_system'].map((uid) => person(uid)).join('\n\n')}

${person('tina', 'tina\tpassword')}

${person('mallory')}
mail: mallory@example.org

dn: cn=administrators,ou=groups,${suffix}
objectClass: groupOfNames
cn: administrators
member: uid=alice,ou=users,${suffix}

dn: cn=analysts,ou=groups,${suffix}
objectClass: groupOfNames
cn: analysts
member: uid=alice,ou=users,${suffix}
member: uid=bob,ou=users,${suffix}

dn: cn=unique,ou=groups,${suffix}
objectClass: groupOfUniqueNames
cn: unique
uniqueMember: uid=carol,ou=users,${suffix}`

const good = await createCertificate(folder, 'directory', 'IP:127.0.0.1,DNS:localhost')
const elsewhere = await createCertificate(folder, 'elsewhere', 'DNS:elsewhere.example.org')
const slapd = await startSlapd(`${folder}/one`, ldif, good)
after(() => slapd.stop())
const other = await startSlapd(`${folder}/two`, ldif, elsewhere)
after(() => other.stop())
const embedded = await startDirectory(sampleDirectory('search-secret'), 0)
after(() => embedded.stop())

const stores = await createTestStores({ after })
const maxFailures = 4
const throttle = openLoginThrottle(
  stores.settings('router', {
    'svc.auth.throttle.failures': String(maxFailures),
    // Logins stay below the limit for password verifications while a test runs.
    'svc.auth.throttle.delay': 'PT15M',
  }),
  () => performance.now(),
)
after(() => throttle?.stop())

const prefix = 'svc.auth.authenticator.L'
let nowMs = 0
const problems: string[] = []

/** The properties of an authenticator L with users in a directory. */
function settingsProperties(url: string): Readonly<Record<string, string>> {
  return {
    'svc.auth.authenticatorChain': '["L"]',
    [`${prefix}.type`]: 'basic',
    [`${prefix}.authorizerName`]: 'Z',
    [`${prefix}.credentialsValidator.type`]: 'ldap',
    [`${prefix}.credentialsValidator.url`]: url,
    [`${prefix}.credentialsValidator.bindUser`]: `cn=search,${suffix}`,
    [`${prefix}.credentialsValidator.bindPassword`]: 'search-secret',
    [`${prefix}.credentialsValidator.baseDn`]: `ou=users,${suffix}`,
    [`${prefix}.credentialsValidator.userSearch`]: '(&(uid=%s)(objectClass=inetOrgPerson))',
    'svc.auth.authorizers': '["Z"]',
    'svc.auth.authorizer.Z.type': 'basic',
    'svc.auth.authorizer.Z.roleProvider.type': 'ldap',
    'svc.escalator.type': 'basic',
    'svc.escalator.internalClientPassword': 'internal-secret',
  }
}

function settingsOf(url: string, properties: Readonly<Record<string, string>> = {}) {
  const all: Readonly<Record<string, string>> = { ...settingsProperties(url), ...properties }
  const variables = Object.entries(all).map(([name, value]) => [name.replaceAll('.', '_'), value])
  return loadSettings('router', [], Object.fromEntries(variables))
}

async function loginsOf(url: string, properties: Readonly<Record<string, string>> = {}): Promise<LdapLogins> {
  const opened = await openLdapLogins(
    settingsOf(url, properties),
    () => nowMs,
    (text, details) => problems.push(`${text} ${JSON.stringify(details)}`),
  )
  return opened.get('L')!
}

/** The properties of an additional authenticator with users in the directory of L. */
const secondDirectory = (second: string) =>
  Object.fromEntries(
    Object.entries(settingsProperties(slapd.url))
      .filter(([name]) => name.startsWith(`${prefix}.`))
      .map(([name, value]) => [name.replace(prefix, second), value]),
  )

const group = (cn: string) => `cn=${cn},ou=groups,${suffix}`

for (const [name, url] of [
  ['OpenLDAP', slapd.url],
  ['the embedded directory', embedded.url],
] as const) {
  describe(name, async () => {
    const logins = await loginsOf(url)

    test('accepts only the right passwords of its users, and finds their groups', async () => {
      const alice = await logins.verify('alice', 'alice-password')
      assert.ok(alice.kind === 'known')
      assert.equal(alice.identity, 'alice')
      assert.deepEqual([...alice.groups].sort(), [group('administrators'), group('analysts')])
      assert.deepEqual(await logins.verify('bob', 'bob-password'), {
        kind: 'known',
        identity: 'bob',
        groups: [group('analysts')],
      })
      assert.deepEqual(await logins.verify('carol', 'carol-password'), {
        kind: 'known',
        identity: 'carol',
        groups: [],
      })
      assert.deepEqual(await logins.verify('bob', 'alice-password'), { kind: 'wrong', identity: 'bob' })
      assert.deepEqual(await logins.verify('dave', 'dave-password'), { kind: 'unknown' })
    })

    test('never receives a password that it could mistake for another one', async () => {
      for (const end of ['\0', '\0x', '\ud83d', '\udcff'])
        assert.deepEqual(await logins.verify('alice', `alice-password${end}`), {
          kind: 'wrong',
          identity: 'alice',
        })
      assert.deepEqual(await logins.verify('dave', 'dave-password\0'), { kind: 'unknown' })
      assert.equal((await logins.verify('alice', 'alice-password')).kind, 'known')
    })

    test('uses one spelling of a name, whatever the user typed', async () => {
      const typed = await logins.verify('ALICE', 'alice-password')
      assert.ok(typed.kind === 'known')
      assert.equal(typed.identity, 'alice')
    })

    test('finds groups by their members if users do not list their groups', async () => {
      const reverse = await loginsOf(url, {
        [`${prefix}.credentialsValidator.groupBaseDn`]: `ou=groups,${suffix}`,
      })
      const alice = await reverse.verify('alice', 'alice-password')
      assert.ok(alice.kind === 'known')
      assert.deepEqual([...alice.groups].sort(), [group('administrators'), group('analysts')])
    })

    test('reports each request and its result, and never a password', async () => {
      const withGroups = {
        [`${prefix}.credentialsValidator.groupBaseDn`]: `ou=groups,${suffix}`,
        [`${prefix}.credentialsValidator.groupSearch`]: '(member=%s)',
      }
      const [ofBob, ofNobody, ofGuess, ofLogin] = [1, 2, 3, 4].map(() => new LdapTrace())
      await (await loginsOf(url, withGroups)).find('bob', ofBob)
      await logins.find('no(body', ofNobody)
      await logins.verify('bob', 'wrong-password', undefined, ofGuess)
      await logins.verify('bob', 'bob-password', undefined, ofLogin)
      const steps = [ofBob!, ofNobody!].flatMap((trace) => trace.steps())
      const bindUser = `cn=search,${suffix}`
      const bob = `uid=bob,ou=users,${suffix}`
      const [users, groups] = [`ou=users,${suffix}`, `ou=groups,${suffix}`]
      const memberOf = [group('analysts')]
      assert.deepEqual(
        steps.map(({ url: _, ...step }) => step),
        [
          { action: 'bind', bindUser },
          {
            ...{ action: 'searchUser', bindUser, baseDn: users, found: [bob], memberOf },
            filter: '(&(uid=bob)(objectClass=inetOrgPerson))',
          },
          { action: 'searchGroups', bindUser, baseDn: groups, filter: `(member=${bob})`, found: memberOf },
          { action: 'bind', bindUser },
          {
            ...{ action: 'searchUser', bindUser, baseDn: users, found: [] },
            filter: '(&(uid=no\\28body)(objectClass=inetOrgPerson))',
          },
        ],
      )
      const check = { action: 'checkPassword', url, bindUser: bob }
      assert.deepEqual(ofGuess!.steps().slice(2), [{ ...check, error: 'Invalid credentials' }])
      assert.deepEqual(ofLogin!.steps().slice(2), [check])
      const failed = new LdapTrace()
      const wrong = await loginsOf(url, { [`${prefix}.credentialsValidator.bindPassword`]: 'other-secret' })
      const outcome = await wrong.find('bob', failed)
      assert.equal(outcome.kind === 'unavailable' && outcome.problem?.kind, 'bindRejected')
      assert.equal(failed.steps().length, 1)
      assert.match(failed.steps()[0]!.error ?? '', /^InvalidCredentialsError, result code 49/)
      const all = [steps, failed.steps(), ofGuess!.steps(), ofLogin!.steps()]
      assert.doesNotMatch(JSON.stringify(all), /secret|\w-password/)
    })

    test('counts as unavailable if the bind user has another password, and logs it', async () => {
      const wrong = await loginsOf(url, { [`${prefix}.credentialsValidator.bindPassword`]: 'no' })
      assert.equal((await wrong.verify('alice', 'alice-password')).kind, 'unavailable')
      assert.match(problems.at(-1)!, /directory of authenticator \[L\] is unavailable/)
    })
  })
}

describe('a directory', () => {
  test('verifies passwords with control characters other than NUL', async () => {
    const logins = await loginsOf(slapd.url)
    assert.equal((await logins.verify('tina', 'tina\tpassword')).kind, 'known')
    assert.equal((await logins.verify('tina', 'tinapassword')).kind, 'wrong')
  })

  test('does not find users by names with control characters, and reports refused users by their own names', async () => {
    const settings = settingsOf(slapd.url, { 'svc.auth.throttle.failures': '2' })
    const directories = await openLdapLogins(
      settings,
      () => nowMs,
      () => undefined,
    )
    const refused: unknown[] = []
    let isThrottled = false
    const security = createSecurity(
      settings,
      { current: () => ({ version: 1, authenticators: {}, authorizers: {} }) },
      {
        directories,
        onRefused: (user, _origin, _reason, knownAs) => refused.push([user, knownAs]),
        throttle: {
          begin: async () => (isThrottled ? 60 : undefined),
          succeeded: async () => undefined,
          undecided: async () => undefined,
        },
      },
    )
    const kindOf = async (user: string, password: string) =>
      (await security.authenticate(basicHeader(user, password), { address: '', server: '' })).kind
    for (const name of ['ali\u0001ce', 'alice\0', 'alice\u0085'])
      assert.equal(await kindOf(name, 'alice-password'), 'refused', JSON.stringify(name))
    for (const name of ['alice', 'ALICE', 'dave']) assert.equal(await kindOf(name, 'wrong'), 'refused')
    isThrottled = true
    for (const name of ['ALICE', 'dave']) assert.equal(await kindOf(name, 'wrong'), 'throttled')
    assert.deepEqual(refused, [
      ['ali\u0001ce', undefined],
      ['alice\0', undefined],
      ['alice\u0085', undefined],
      ['alice', 'alice'],
      ['ALICE', 'alice'],
      ['dave', undefined],
      ['ALICE', 'alice'],
      ['dave', undefined],
    ])
  })

  test('accepts a user whose name is a filter pattern', async () => {
    const logins = await loginsOf(slapd.url)
    const star = await logins.verify('st*ar', 'st*ar-password')
    assert.ok(star.kind === 'known')
    assert.equal(star.identity, 'st*ar')
  })

  test('rejects 200 names that try to inject filters', async () => {
    const logins = await loginsOf(slapd.url)
    const names = injectedNames()
    assert.equal(names.length, 200)
    let slowestMs = 0
    for (const injected of names) {
      const startedAt = performance.now()
      const { kind } = await logins.verify(injected, 'alice-password')
      slowestMs = Math.max(slowestMs, performance.now() - startedAt)
      assert.ok(
        kind === 'unknown' || kind === 'wrong',
        `${JSON.stringify(injected)}: ${kind} ${problems.at(-1)}`,
      )
    }
    console.log(`slowest answer to an injected name: ${slowestMs.toFixed(1)} ms`)
  })

  test('of a demo rejects them too, and keeps working for others', async () => {
    const logins = await loginsOf(embedded.url)
    for (const injected of injectedNames()) {
      const { kind } = await logins.verify(injected, 'alice-password')
      assert.notEqual(kind, 'known', JSON.stringify(injected))
      assert.equal((await logins.verify('alice', 'alice-password')).kind, 'known', JSON.stringify(injected))
    }
  })

  test('is never queried for an empty password or name', async () => {
    // The directory is down, so a query would return `unavailable`.
    const logins = await loginsOf('ldap://127.0.0.1:1')
    assert.deepEqual(await logins.verify('alice', ''), { kind: 'wrong' })
    assert.deepEqual(await logins.verify('', 'x'), { kind: 'wrong' })
  })

  test('is searched for groups with only uniqueMember', async () => {
    const reverse = await loginsOf(slapd.url, {
      [`${prefix}.credentialsValidator.groupBaseDn`]: `ou=groups,${suffix}`,
    })
    const carol = await reverse.verify('carol', 'carol-password')
    assert.ok(carol.kind === 'known')
    assert.deepEqual(carol.groups, [group('unique')])
  })

  const trust = (file: string) => ({
    'svc.auth.basic.ssl.trustStoreType': 'pem',
    'svc.auth.basic.ssl.trustStorePath': file,
  })

  test('is queried over TLS, with the trust store for directories', async () => {
    const logins = await loginsOf(slapd.tlsUrl, trust(good.certificateFile))
    assert.equal((await logins.verify('bob', 'bob-password')).kind, 'known')
    assert.equal((await logins.verify('bob', 'no')).kind, 'wrong')
  })

  test('is rejected if its certificate is from another authority or for another host', async () => {
    const untrusted = await loginsOf(slapd.tlsUrl, trust(elsewhere.certificateFile))
    assert.equal((await untrusted.verify('bob', 'bob-password')).kind, 'unavailable')
    const otherHost = await loginsOf(other.tlsUrl, trust(elsewhere.certificateFile))
    assert.equal((await otherHost.verify('bob', 'bob-password')).kind, 'unavailable')
  })

  test('is unavailable if it does not answer within the configured timeout', async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    const logins = await loginsOf(`ldap://127.0.0.1:${port}`, {
      [`${prefix}.credentialsValidator.readTimeout`]: 'PT0.2S',
    })
    assert.equal((await logins.verify('bob', 'bob-password')).kind, 'unavailable')
    silent.close()
  })

  test('is not queried again for a while; its logins are cached for longer while it is unavailable, up to a limit', async () => {
    const logins = await loginsOf(other.url, {
      [`${prefix}.credentialsValidator.credentialVerifyDuration`]: '60',
      [`${prefix}.credentialsValidator.credentialMaxDuration`]: '600',
    })
    assert.equal(logins.remembered('bob', 'bob-password'), undefined)
    assert.equal((await logins.verify('bob', 'bob-password')).kind, 'known')
    assert.equal((await logins.verify('ghost', 'x')).kind, 'unknown')
    nowMs += 59_000
    assert.equal(logins.remembered('bob', 'bob-password')?.kind, 'known')
    assert.equal(logins.remembered('ghost', 'y')?.kind, 'unknown')
    assert.equal(logins.remembered('bob', 'other'), undefined, 'a different password was not verified')
    nowMs += 2000
    assert.equal(logins.remembered('bob', 'bob-password'), undefined)
    await other.stop()
    assert.equal((await logins.verify('bob', 'bob-password')).kind, 'known')
    assert.equal((await logins.verify('bob', 'guess')).kind, 'unavailable')
    assert.equal((await logins.verify('carol', 'carol-password')).kind, 'unavailable')
    nowMs += 600_000
    assert.equal((await logins.verify('bob', 'bob-password')).kind, 'unavailable')
    await other.start()
    const verify = async () => (await logins.verify('carol', 'carol-password')).kind
    assert.equal(
      await waitUntil('the directory is queried again', verify, (kind) => kind !== 'unavailable'),
      'known',
    )
  })
})

describe('a chain with a directory', async () => {
  const hash = await hashPassword('metadata-password')
  const stored: UsersAndRoles = {
    version: 1,
    authenticators: { M: { alice: hash, mia: hash, admin: hash, svc_system: hash, mallory: hash } },
    authorizers: {
      Z: {
        users: { mia: ['reader'] },
        roles: {
          reader: [{ resource: { type: 'STATE', name: 'STATE' }, action: 'READ' }],
          analyst: [{ resource: { type: 'DATASOURCE', name: 'wiki' }, action: 'READ' }],
        },
        groupMappings: { analysts: { groupPattern: `*,ou=groups,${suffix}`, roles: ['analyst'] } },
      },
    },
  }
  const chained = async (
    chain: readonly string[],
    skip: boolean,
    url: string,
    more: Record<string, string> = {},
    /** The client address of logins whose failures are counted. */
    address?: string,
  ) => {
    const settings = settingsOf(url, {
      'svc.auth.authenticatorChain': JSON.stringify(chain),
      'svc.auth.authenticator.M.type': 'basic',
      'svc.auth.authenticator.M.authorizerName': 'Z',
      [`svc.auth.authenticator.${chain[0]}.skipOnFailure`]: String(skip),
      ...more,
    })
    const directories = await openLdapLogins(
      settings,
      () => nowMs,
      () => undefined,
    )
    const security = createSecurity(
      settings,
      { current: () => stored },
      { directories, ...(throttle && address !== undefined ? { throttle } : {}) },
    )
    return async (user: string, password: string) => {
      const outcome = await security.authenticate(basicHeader(user, password), {
        address: address ?? '::1',
        server: '',
      })
      return outcome.kind === 'known' ? outcome.caller.authenticator : outcome.kind
    }
  }

  const rows: readonly [
    chain: readonly string[],
    skip: boolean,
    user: string,
    password: string,
    outcome: string,
  ][] = [
    [['L', 'M'], true, 'bob', 'bob-password', 'L'],
    [['L', 'M'], true, 'mia', 'metadata-password', 'M'],
    [['L', 'M'], false, 'mia', 'metadata-password', 'refused'],
    [['L', 'M'], true, 'alice', 'metadata-password', 'refused'],
    [['L', 'M'], false, 'alice', 'alice-password', 'L'],
    [['L', 'M'], true, 'nobody', 'x', 'refused'],
    [['M', 'L'], true, 'bob', 'bob-password', 'L'],
    [['M', 'L'], false, 'bob', 'bob-password', 'refused'],
    [['M', 'L'], true, 'alice', 'alice-password', 'refused'],
    [['M', 'L'], true, 'alice', 'metadata-password', 'M'],
    [['M', 'L'], true, 'mia', 'wrong', 'refused'],
    [['M', 'L'], true, 'nobody', 'x', 'refused'],
  ]
  for (const [chain, skip, user, password, expected] of rows) {
    test(`${chain.join(' then ')}, skip ${skip}: ${user} with [${password}] is ${expected}`, async () => {
      const outcome = await chained(chain, skip, slapd.url)
      assert.equal(await outcome(user, password), expected)
      assert.equal(await outcome(user, password), expected, 'the second, cached outcome differs')
    })
  }

  const spellings = (name: string) => [
    name,
    name.toUpperCase(),
    `${name[0]?.toUpperCase()}${name.slice(1)}`,
    ` ${name}`,
    `${name} `,
  ]
  for (const name of ['admin', 'svc_system']) {
    for (const typed of spellings(name)) {
      test(`whose first member has [${name}] rejects [${typed}] from the directory`, async () => {
        const outcome = await chained(['M', 'L'], true, slapd.url)
        assert.equal(await outcome(typed, `${name}-password`), 'refused')
        assert.equal(
          await outcome(typed, `${name}-password`),
          'refused',
          'the second, cached outcome differs',
        )
      })
    }
  }

  test("whose first member has a user rejects the directory's user with the same name who logs in by another attribute", async () => {
    const outcome = await chained(['M', 'L'], true, slapd.url, byMail)
    assert.equal(await outcome('mallory@example.org', 'mallory-password'), 'refused')
    const alone = await chained(['L'], true, slapd.url, byMail)
    assert.equal(await alone('mallory@example.org', 'mallory-password'), 'L')
  })

  test('rejects a user of the second directory whose name is in the first one', async () => {
    const second = 'svc.auth.authenticator.K'
    const outcome = await chained(['L', 'K'], true, slapd.url, {
      ...secondDirectory(second),
      [`${second}.credentialsValidator.userSearch`]: '(mail=%s)',
    })
    assert.equal(await outcome('mallory@example.org', 'mallory-password'), 'refused')
  })

  for (const typed of spellings('svc_system')) {
    test(`never accepts [${typed}] of a directory as the internal user of a later member`, async () => {
      const outcome = await chained(['L', 'M'], true, slapd.url)
      assert.equal(await outcome(typed, 'svc_system-password'), 'refused')
      assert.equal(await outcome(typed, 'svc_system-password'), 'refused', 'the second outcome differs')
      assert.equal(
        await outcome('svc_system', 'metadata-password'),
        'M',
        'the internal user of the later member was rejected',
      )
    })
  }

  const byMail = { [`${prefix}.credentialsValidator.userSearch`]: '(|(uid=%s)(mail=%s))' }
  const guessed: readonly [how: string, address: string, names: readonly string[]][] = [
    ['in any spelling', '10.0.0.1', ['bob', ...spellings('bob')]],
    ['by any attribute', '10.0.0.2', ['mallory', 'mallory@example.org', 'MALLORY', 'Mallory@example.org']],
  ]
  for (const [how, address, names] of guessed) {
    test(`counts failed logins of a user together, ${how}`, async () => {
      const outcome = await chained(['L', 'M'], false, slapd.url, byMail, address)
      for (let guess = 0; guess < maxFailures; guess++)
        assert.equal(await outcome(names[guess % names.length]!, `guess-${guess}`), 'refused')
      for (const name of names) {
        for (let time = 0; time < 2; time++)
          assert.equal(
            await outcome(name, `${names[0]}-password`),
            'throttled',
            `${name}, whose login is not cached`,
          )
      }
      assert.equal(await outcome('carol', 'carol-password'), 'L', 'other users are throttled')
    })
  }

  test('forgets the failed logins of a user who logs in, by any attribute', async () => {
    const outcome = await chained(['L', 'M'], false, slapd.url, byMail, '10.0.0.3')
    const guess = async (name: string, times: number) => {
      for (let time = 0; time < times; time++) assert.equal(await outcome(name, `guess-${time}`), 'refused')
    }
    await guess('mallory', maxFailures - 1)
    assert.equal(await outcome('mallory@example.org', 'mallory-password'), 'L')
    await guess('mallory', maxFailures)
    assert.equal(await outcome('mallory@example.org', 'other'), 'throttled')
  })

  test('accepts the internal user of a directory if no other requested member has one', async () => {
    for (const chain of [['L'], ['L', 'M']]) {
      const outcome = await chained(chain, false, slapd.url)
      assert.equal(await outcome('svc_system', 'svc_system-password'), 'L')
    }
  })

  test('whose directory is unavailable cannot tell who is unknown, but accepts users of the next member', async () => {
    const outcome = await chained(['L', 'M'], true, 'ldap://127.0.0.1:1')
    assert.equal(await outcome('bob', 'bob-password'), 'unavailable')
    assert.equal(await outcome('mia', 'metadata-password'), 'M')
    assert.equal(await outcome('mia', 'wrong'), 'unavailable')
    const closed = await chained(['L', 'M'], false, 'ldap://127.0.0.1:1')
    assert.equal(await closed('mia', 'metadata-password'), 'unavailable')
  })

  test('takes roles from mapped groups that match the filters', async () => {
    const filters = (list: string) => ({ 'svc.auth.authorizer.Z.roleProvider.groupFilters': list })
    const can = async (more: Record<string, string>) => {
      const settings = settingsOf(slapd.url, more)
      const directories = await openLdapLogins(
        settings,
        () => nowMs,
        () => undefined,
      )
      const security = createSecurity(settings, { current: () => stored }, { directories })
      const outcome = await security.authenticate(basicHeader('bob', 'bob-password'), {
        address: '',
        server: '',
      })
      assert.ok(outcome.kind === 'known')
      return await mayAccess(outcome.caller, 'wiki')
    }
    assert.equal(await can({}), true)
    assert.equal(await can(filters(`["cn=analysts,*"]`)), true)
    assert.equal(await can(filters(`["cn=others,*"]`)), false)
    assert.equal(await can({ 'svc.auth.authorizer.Z.roleProvider.type': 'metadata' }), false)
  })
})
