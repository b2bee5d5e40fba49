import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { type ContainerOptions, readContainerOptions } from './cluster-options.ts'

const defaults: ContainerOptions = {
  adminPassword: undefined,
  certificateHosts: [],
  historicals: undefined,
  instances: undefined,
  profile: undefined,
  set: ['svc.bindOnHost=false'],
}

const accepted: [about: string, environment: NodeJS.ProcessEnv, expected: Partial<ContainerOptions>][] = [
  ['nothing', {}, {}],
  ['an empty variable', { SVC_HISTORICALS: '' }, {}],
  ['variables of others and properties', { PATH: '/bin', svc_coordinator_period: 'PT1S' }, {}],
  ['variables that Kubernetes sets', { SVC_SERVICE_HOST: '10.0.0.1', SVC_PORT: 'tcp://10.0.0.1:9088' }, {}],
  [
    'all options',
    {
      SVC_ADMIN_PASSWORD: 'secret-1',
      SVC_HOSTS: 'svc.example.com,10.0.0.1',
      SVC_HISTORICALS: 'hot=2',
      SVC_INSTANCES: 'broker=2',
      SVC_PROFILE: 'secure',
    },
    {
      adminPassword: 'secret-1',
      certificateHosts: ['svc.example.com', '10.0.0.1'],
      historicals: 'hot=2',
      instances: 'broker=2',
      profile: 'secure',
    },
  ],
]
for (const [about, environment, expected] of accepted)
  test(`accepts ${about}`, () => {
    assert.deepEqual(readContainerOptions(environment), { ...defaults, ...expected })
  })

test('reads the password of the admin from a file, without the line break at its end', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-container-'))
  try {
    const file = path.join(folder, 'password')
    writeFileSync(file, 'secret-1\n')
    assert.equal(readContainerOptions({ SVC_ADMIN_PASSWORD_FILE: file }).adminPassword, 'secret-1')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const rejected: [about: string, environment: NodeJS.ProcessEnv, message: RegExp][] = [
  ['an unknown variable', { SVC_HISTORICAL: 'hot=2' }, /^Unknown environment variable \[SVC_HISTORICAL\]: /],
  [
    'an invalid host',
    { SVC_HOSTS: 'a, b' },
    /^Invalid value \[a, b\] for \[SVC_HOSTS\]: expected comma-separated host names and addresses$/,
  ],
  [
    'two passwords',
    { SVC_ADMIN_PASSWORD: 'one', SVC_ADMIN_PASSWORD_FILE: '/two' },
    /^SVC_ADMIN_PASSWORD and SVC_ADMIN_PASSWORD_FILE cannot both be set$/,
  ],
  [
    'a missing password file',
    { SVC_ADMIN_PASSWORD_FILE: '/missing/file' },
    /^Failed to read the file \[\/missing\/file\] given in SVC_ADMIN_PASSWORD_FILE: /,
  ],
]
for (const [about, environment, message] of rejected)
  test(`rejects ${about}`, () => {
    assert.throws(() => readContainerOptions(environment), { code: 'invalidInput', message })
  })
