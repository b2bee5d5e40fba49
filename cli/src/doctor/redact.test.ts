import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { doctorOutputs } from '../testing/index.ts'
import { examine } from './index.ts'

const scratch = mkdtempSync(path.join(tmpdir(), 'svc-doctor-redact-'))
after(() => rmSync(scratch, { recursive: true }))
const good = fileURLToPath(
  new URL('configurations/good/metadata-store-and-directory/conf/druid/cluster', import.meta.url),
)
const now = Date.parse('2026-11-01T00:00:00Z')
const secretFile = path.join(scratch, 'password')
writeFileSync(secretFile, 'fR3-from-a-file-66\n')
const environment = { BIND_PASSWORD: 'vR8-from-a-variable-41' }

/** Adds lines to the common file of a good configuration, and returns everything that the doctor prints about it. */
async function printed(lines: readonly string[]): Promise<string> {
  const folder = mkdtempSync(path.join(scratch, 'conf-'))
  cpSync(good, folder, { recursive: true })
  const file = path.join(folder, '_common/common.runtime.properties')
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n${lines.join('\n')}\n`)
  const options = { environment, maps: [], isOffline: true, now }
  const [before, examination] = [
    await examine({ folder: good, ...options }),
    await examine({ folder, ...options }),
  ]
  return (await doctorOutputs(examination, before)).join('\n')
}

const directory = 'druid.auth.authenticator.ldap.credentialsValidator'

/** Lines with a password in an unusual place, the password, and what is printed nevertheless. */
const cases: readonly (readonly [place: string, lines: readonly string[], secret: string, shown: RegExp])[] =
  [
    [
      'the URL of a directory',
      [`${directory}.url=ldap://search:uR1-in-the-url-20@ldap.example.com:389`],
      'uR1-in-the-url-20',
      /directory-url-invalid/,
    ],
    [
      'the user part of a URL that is not valid because of the password',
      [
        'druid.metadata.storage.connector.connectURI=jdbc:mysql://druid:sL5/in/the/url@db.example.com/druid',
        `${directory}.userSearch=(uid=sL5/in/the/url`,
      ],
      'sL5/in/the/url',
      /userSearch\] is \[\(uid=hidden\]/,
    ],
    [
      'the URL of a database, which another property repeats',
      [
        'druid.metadata.storage.connector.connectURI=jdbc:postgresql://db.example.com/druid?user=druid&password=jD4-database-57',
        `${directory}.userSearch=(uid=jD4-database-57`,
      ],
      'jD4-database-57',
      /userSearch\] is \[\(uid=hidden\]/,
    ],
    [
      'a parameter whose name ends like that of a password',
      [
        'druid.metadata.storage.connector.connectURI=jdbc:postgresql://db/druid?ssl=true&sslpassword=kP6-of-a-key-44',
        `${directory}.userSearch=(uid=kP6-of-a-key-44`,
      ],
      'kP6-of-a-key-44',
      /userSearch\] is \[\(uid=hidden\]/,
    ],
    [
      'the user part of the URL of a database',
      [
        'druid.metadata.storage.connector.connectURI=jdbc:mysql://druid:mY2-database-90@db.example.com/druid',
        'druid.auth.unsecuredPaths=["/mY2-database-90/*"]',
      ],
      'mY2-database-90',
      /path-unsecured/,
    ],
    [
      'a password provider at a property that is not a password',
      [
        'druid.emitter.http.auth={"type":"default","password":"pV6-provided-13"}',
        'druid.auth.authenticator.metadata.skipOnFailure=pV6-provided-13',
      ],
      'pV6-provided-13',
      /Invalid value \[hidden\]/,
    ],
    [
      'a malformed password provider',
      ['druid.escalator.internalClientPassword={"type":"default","password":"mF7-malformed-35"'],
      'mF7-malformed-35',
      /value-malformed/,
    ],
    [
      'the type of a password provider',
      ['druid.escalator.internalClientPassword={"type":"tY5-as-a-type-72"}'],
      'tY5-as-a-type-72',
      /a password provider with an invalid type/,
    ],
    [
      'the variable of a password provider',
      ['druid.escalator.internalClientPassword={"type":"environment","variable":"vA9-as-a-variable-18"}'],
      'vA9-as-a-variable-18',
      /an environment variable with an invalid name/,
    ],
    [
      'a file that another property refers to',
      [
        `druid.auth.unsecuredPaths=["/\${file:UTF-8:${secretFile}}"]`,
        `${directory}.baseDn=\${file:UTF-8:${secretFile}}`,
      ],
      'fR3-from-a-file-66',
      /directory-base-invalid/,
    ],
    [
      'a variable that another property refers to',
      [`druid.escalator.type=\${env:BIND_PASSWORD}`, `${directory}.baseDn=\${env:BIND_PASSWORD}`],
      environment.BIND_PASSWORD,
      /baseDn\] is \[hidden\]/,
    ],
    [
      'the path of a store, swapped with its password',
      [
        'druid.server.https.keyStorePath=sW8-swapped-store-44',
        'druid.server.https.keyStorePassword=conf/tls/server.jks',
      ],
      'sW8-swapped-store-44',
      /key store \[hidden\]/,
    ],
    [
      'the user of the escalator, which is the same as a password',
      [
        'druid.escalator.internalClientUsername=iD3-internal-as-user-61',
        'druid.escalator.internalClientPassword=iD3-internal-as-user-61',
      ],
      'iD3-internal-as-user-61',
      /now as hidden/,
    ],
    [
      'a line that continues a password',
      ['druid.escalator.internalClientPassword=first', ...['cO5-continued-83', 'cO5-continued-83']],
      'cO5-continued-83',
      /escalator-password-wrong/,
    ],
    [
      'a word that messages contain as well',
      ['druid.escalator.internalClientPassword=start', 'druid.auth.authenticatorChain=["start"]'],
      '[start]',
      /contains \[hidden\][\s\S]*will not start/,
    ],
  ]

describe('the doctor', () => {
  for (const [place, lines, secret, shown] of cases)
    it(`does not print a password in ${place}`, async () => {
      const text = await printed(lines)
      assert.match(text, shown)
      const found = text.split('\n').filter((line) => line.includes(secret))
      assert.deepEqual(found, [])
    })

  it('prints the names of properties that contain a password', async () => {
    const text = await printed([
      'druid.escalator.internalClientPassword=metadata',
      'druid.auth.authenticator.metadata.skipOnFailure=false',
    ])
    assert.match(text, /\[druid\.auth\.authenticator\.metadata\.skipOnFailure\] is \[false\]/)
  })
})
