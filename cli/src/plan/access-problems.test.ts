import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, test } from 'node:test'
import { forbidden } from '@svc/domain/failure'
import { type ClusterConfiguration, configuredCluster } from '../testing/index.ts'
import { blocksOf, compareFiles, diffText, readDeclaredFiles, readPasswords } from './index.ts'

const servers = ['READ', 'WRITE'].flatMap((action) =>
  ['STATE', 'CONFIG'].map((type) => ({ action, resource: { type, name: '.*' } })),
)
const access: Partial<ClusterConfiguration> = {
  roles: { svc_system: servers, reader: [], writer: [] },
  users: { svc_system: ['svc_system'], rita: ['reader'] },
  groupMappings: { all: { groupPattern: '*', roles: ['reader'] } },
  logins: { svc_system: 'secret', rita: 'secret' },
}
const cluster = configuredCluster(access)
const folder = mkdtempSync(path.join(tmpdir(), 'svc-access-'))
after(() => rmSync(folder, { recursive: true, force: true }))

async function compare(text: string, parts: readonly string[] = [], client: typeof cluster = cluster) {
  const file = path.join(folder, 'state.yaml')
  writeFileSync(file, text)
  return await compareFiles(client, readDeclaredFiles(file), { parts, create: true })
}

const serversRole = `svc_system: ${JSON.stringify(servers)}`
const authorizer = (text: string): string => `authorizers:\n  basic:\n${text}`

describe('a plan is refused if the cluster would refuse its users and roles', () => {
  const rows: [name: string, text: string, expected: RegExp | undefined][] = [
    [
      'an assigned role does not exist',
      authorizer('    users: {svc_system: [svc_system], rita: [reader, reeder]}'),
      /^state\.yaml:3:54: Unknown role \[reeder\]: expected a role that \[authorizers\.basic\] has after these changes\. Similar names: \[reader\]$/,
    ],
    [
      'a group mapping has a role that does not exist',
      authorizer("    groupMappings: {all: {groupPattern: '*', roles: [reader, other]}}"),
      /^state\.yaml:3:62: Unknown role \[other\]: /,
    ],
    [
      'a removed role is still assigned',
      authorizer(`    roles: {${serversRole}}\n    users: {svc_system: [svc_system], rita: [reader]}`),
      /^state\.yaml:4:46: Unknown role \[reader\]: /,
    ],
    [
      'a removed role has been replaced',
      authorizer(
        `    roles: {${serversRole}, other: []}\n    users: {svc_system: [svc_system], rita: [other]}`,
      ),
      undefined,
    ],
    [
      'the role of the internal user is removed',
      authorizer('    roles: {reader: [], writer: []}'),
      /^state\.yaml:3:5: Servers use the user \[svc_system\] to call each other: expected this user to keep \[READ\] and \[WRITE\] on \[STATE\]/,
    ],
    [
      'the role of the internal user loses a permission',
      authorizer(`    roles: {reader: [], writer: [], svc_system: ${JSON.stringify(servers.slice(1))}}`),
      /^state\.yaml:3:\d+: Servers use the user \[svc_system\]/,
    ],
    [
      'the internal user is removed',
      authorizer('    users: {rita: [reader]}'),
      /^state\.yaml:3:5: Servers use the user \[svc_system\] to call each other/,
    ],
    [
      'the internal user can no longer log in',
      'authenticators:\n  basic:\n    users: {rita: {}}',
      /^state\.yaml:3:5: Servers use the user \[svc_system\] to log in to each other: expected the files to contain this user$/,
    ],
  ]
  for (const [name, text, expected] of rows)
    test(name, async () => {
      const result = await compare(text).then(
        ({ changes }) => changes.length,
        (error: Error) => error.message,
      )
      if (expected === undefined) assert.ok(typeof result === 'number' && result > 0, String(result))
      else assert.match(String(result).replaceAll(`${folder}/`, ''), expected)
    })

  const administration = [{ action: 'WRITE', resource: { type: 'CONFIG', name: 'security' } }]
  const administered: typeof access = {
    roles: { ...access.roles, admin: administration },
    users: { ...access.users, ada: ['admin'], nopassword: ['admin'] },
    groupMappings: { admins: { groupPattern: '*', roles: ['admin'] } },
    logins: { ...access.logins, ada: 'secret', nopassword: null },
  }
  const users = 'svc_system: [svc_system], rita: [reader]'
  const lockouts: [name: string, text: string, isRefused: boolean][] = [
    ['the last administrator loses the role', authorizer(`    users: {${users}, ada: [reader]}`), true],
    ['the last administrator is removed', authorizer(`    users: {${users}}`), true],
    [
      'another user becomes an administrator',
      authorizer('    users: {svc_system: [svc_system], rita: [admin]}'),
      false,
    ],
    [
      'the role of administrators loses its permission',
      authorizer(`    roles: {${serversRole}, reader: [], writer: [], admin: []}`),
      true,
    ],
    [
      'the last administrator can no longer log in',
      `${authorizer(`    users: {${users}, ada: [admin]}`)}\nauthenticators:\n  basic:\n    users: {svc_system: {}, rita: {}, nopassword: {}}`,
      true,
    ],
  ]
  for (const [name, text, isRefused] of lockouts)
    test(`${name}: ${isRefused ? 'refused' : 'accepted'}`, async () => {
      const compared = compare(text, [], configuredCluster(administered))
      if (isRefused)
        await assert.rejects(
          compared,
          /state\.yaml:\d+:\d+: No user could change users and roles anymore: expected \[ada\](, \[nopassword\])?, or another user with a password, to have \[WRITE\] on \[CONFIG\] \[security\]$/,
        )
      else assert.ok((await compared).changes.length > 0)
    })

  test('unless the cluster already has such a user', async () => {
    const strange = configuredCluster({ ...access, users: { ...access.users, odd: ['gone'] } })
    const users = (roles: string) =>
      authorizer(`    users: {svc_system: [svc_system], odd: [gone], rita: [${roles}]}`)
    assert.equal((await compare(users('writer'), [], strange)).changes.length, 1)
    await assert.rejects(compare(users('gone'), [], strange), /3:59: Unknown role \[gone\]/)
  })

  test('a new role must be part of the plan', async () => {
    const text = authorizer(
      `    roles: {${serversRole}, reader: [], writer: [], new: []}\n    users: {svc_system: [svc_system], rita: [new]}`,
    )
    assert.equal((await compare(text)).changes.length, 2)
    await assert.rejects(compare(text, ['authorizers.basic.users']), /Unknown role \[new\]/)
  })
})

test('--target reads and checks only these parts', async () => {
  const read: string[] = []
  const limited: typeof cluster = {
    ...cluster,
    send: async (method, at, ...rest) => {
      read.push(at)
      if (at.endsWith('/coordinator/v1/config')) throw forbidden('No access')
      return await cluster.send(method, at, ...rest)
    },
  }
  const text = 'rules:\n  wiki: [{type: dropForever}]\ncoordinator:\n  maxSegmentsToMove: many\n'
  const { changes } = await compare(text, ['rules.wiki'], limited)
  assert.deepEqual(
    changes.map(({ path }) => path),
    [['rules', 'wiki']],
  )
  assert.ok(
    read.every((at) => at.startsWith('/svc/coordinator/v1/rules')),
    read.join(', '),
  )
  await assert.rejects(compare(text, [], limited), /No access/)
  await assert.rejects(compare(text, ['coordinator'], limited), /No access/)
})

describe('passwords of new users', () => {
  const text =
    'authenticators:\n  basic:\n    users: {svc_system: {}, rita: {}, new: {password: {environment: NEW}}, other: {password: {file: secret}}}'

  test('a plan shows where the password is', async () => {
    const { changes } = await compare(text)
    assert.deepEqual(diffText(blocksOf(changes)), [
      'authenticators.basic.users.new',
      '  + password: {"environment":"NEW"}',
      'authenticators.basic.users.other',
      `  + password: {"file":"${folder}/secret"}`,
    ])
  })

  test('a password that the cluster would refuse is refused before anything is applied', async () => {
    const { changes } = await compare(text)
    const steps = [{ phase: 'access' as const, changes: changes.slice(0, 1) }]
    const read = (password: string) => readPasswords(steps, { NEW: password }, 5)(changes[0]!)
    assert.equal(read('12345'), '12345')
    for (const password of ['1234', 'a\u0007bcdef', 'x'.repeat(1025)])
      assert.throws(() => read(password), {
        message: `Invalid password for [authenticators.basic.users.new] in the environment variable [NEW] ([${password.length}] characters): expected 5 to 1024 characters without control characters, and not only spaces`,
      })
  })
})
