import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { createServer } from 'node:tls'
import { escapeInvisible } from '@svc/domain/validation'
import { doctorOutputs, type StoreRecipe, startSurroundings, testConfigurations } from '../testing/index.ts'
import { type Examination, examinationText, examine } from './index.ts'

const scratch = mkdtempSync(path.join(tmpdir(), 'svc-doctor-'))
const surroundings = await startSurroundings(scratch)
after(async () => {
  await surroundings.stop()
  rmSync(scratch, { recursive: true })
})

const configurations = testConfigurations()
const outputs: string[] = []
let compared: Examination | undefined

describe('the configurations of Druid clusters', () => {
  for (const configuration of configurations)
    it(`finds exactly what is wrong in ${configuration.kind}/${configuration.name}`, async () => {
      const examination = await examine(surroundings.prepare(configuration))
      // Compared with the configuration before it, most of which is different.
      outputs.push(...(await doctorOutputs(examination, compared ?? examination)))
      compared = examination
      assert.deepEqual(
        examination.findings.map(({ code, file, line, up }) => ({
          code,
          place: `${file}:${line}`,
          up: up.text,
        })),
        configuration.findings,
      )
    })

  it('has five good and twenty broken ones', () => {
    const kinds = configurations.map(({ kind }) => kind)
    assert.deepEqual(
      [5, 20],
      [kinds.filter((kind) => kind === 'good').length, kinds.filter((kind) => kind === 'broken').length],
    )
    assert(configurations.every(({ kind, findings }) => (kind === 'good') === (findings.length === 0)))
  })

  it('prints no password', () => {
    const secrets = new Set([...secretsInFiles(), ...configurations.flatMap(secretsOf)])
    assert(secrets.size >= 15, `only ${secrets.size} passwords`)
    assert(outputs.length >= 4 * configurations.length)
    for (const secret of secrets)
      assert(!outputs.some((output) => output.includes(secret)), `An output contains [${secret}]`)
  })
})

describe('a store', () => {
  const metadataStore = configurations.find(({ name }) => name === 'metadata-store')!
  const key = metadataStore.stores['conf/tls/server.jks']!
  const cases = {
    'certificate-not-yet-valid': { ...key, validity: 'future' },
    'certificate-expires-soon': { ...key, validity: 'soon' },
    'certificate-untrusted': { ...key, issuer: 'other' },
    'key-mismatch': { ...key, isMismatched: true },
  } as const
  for (const type of ['jks', 'pkcs12'] as const)
    for (const [code, recipe] of Object.entries(cases))
      it(`in the format ${type} leads to ${code}`, async () => {
        const stores = { ...metadataStore.stores, 'conf/tls/server.jks': { ...recipe, type } }
        const { findings } = await examine(surroundings.prepare({ ...metadataStore, stores }))
        assert.deepEqual(
          findings.map((finding) => finding.code),
          [code],
        )
      })
})

describe('a key store', () => {
  const metadataStore = configurations.find(({ name }) => name === 'metadata-store')!

  for (const type of ['jks', 'pkcs12'] as const)
    it(`in the format ${type} whose key has another password leads to a finding about that property`, async () => {
      const file = 'conf/tls/server.jks'
      const stores = { ...metadataStore.stores, [file]: { ...metadataStore.stores[file]!, type } }
      const options = surroundings.prepare({ ...metadataStore, stores })
      const common = path.join(options.folder, '_common/common.runtime.properties')
      const line = readFileSync(common, 'utf8').split('\n').length
      appendFileSync(common, 'druid.server.https.keyManagerPassword=kM-manager-66\n')
      const { findings } = await examine(options)
      assert.deepEqual(
        findings.map((finding) => ({ code: finding.code, line: finding.line })),
        [{ code: 'key-password-wrong', line }],
      )
    })
})

describe('a running server', () => {
  const metadataStore = configurations.find(({ name }) => name === 'metadata-store')!

  /** Runs a server with a new certificate, and returns what the doctor finds. */
  async function findingsWith(
    recipe: Parameters<typeof surroundings.writeStore>[1],
    host = 'broker.druid.example.com',
  ) {
    const options = surroundings.prepare(metadataStore)
    const files = readdirSync(options.folder, { recursive: true, encoding: 'utf8' })
    const broker = path.join(options.folder, files.find((one) => one.endsWith('broker/runtime.properties'))!)
    const properties = readFileSync(broker, 'utf8')
    writeFileSync(broker, properties.replaceAll('broker.druid.example.com', host))
    const file = path.join(scratch, 'running.p12')
    surroundings.writeStore(file, { ...recipe, type: 'pkcs12' })
    const server = createServer({ pfx: readFileSync(file), passphrase: recipe.password })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { readonly port: number }
    const maps = [`${host}:8282=127.0.0.1:${port}`, ...options.maps]
    const { findings } = await examine({ ...options, maps })
    server.close()
    return findings.map(({ code, file, line }) => `${code} ${file}:${line}`)
  }
  const recipe = metadataStore.stores['conf/tls/server.jks']!
  const old = 'server-certificate-old _common/common.runtime.properties:30'

  it('with a different certificate from the one in its key store leads to a warning', async () => {
    assert.deepEqual(await findingsWith(recipe), [old])
  })

  it('whose host is an address must have a certificate for this address', async () => {
    const address = '10.1.2.3'
    const notInStore = 'host-not-in-certificate query/broker/runtime.properties:2'
    const isRefused = 'server-refused query/broker/runtime.properties:4'
    assert.deepEqual(await findingsWith({ ...recipe, hosts: [address] }, address), [notInStore, old])
    assert.deepEqual(await findingsWith(recipe, address), [notInStore, isRefused, old])
  })

  for (const change of [{ issuer: 'other' }, { hosts: ['another.example.com'] }] as const)
    it(`that other servers refuse leads to an error: ${JSON.stringify(change)}`, async () => {
      const refused = 'server-refused query/broker/runtime.properties:4'
      assert.deepEqual(await findingsWith({ ...recipe, ...change }), [refused, old])
    })
})

describe('the trust store of Java', () => {
  const folders = new Map(configurations.map((one) => [one.name, one]))

  /** Adds options to the `jvm.config` of the broker, and returns what the doctor finds. */
  async function findingsWith(
    name: string,
    lines: string,
    recipe?: StoreRecipe,
    changeCommon: (text: string) => string = (text) => text,
  ) {
    const options = surroundings.prepare(folders.get(name)!)
    const fileOf = (end: string) =>
      readdirSync(options.folder, { recursive: true, encoding: 'utf8' }).find((one) => one.endsWith(end))!
    const common = path.join(options.folder, fileOf('common.runtime.properties'))
    writeFileSync(common, changeCommon(readFileSync(common, 'utf8')))
    const file = path.join(options.folder, path.dirname(fileOf('broker/runtime.properties')), 'jvm.config')
    const before = existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0
    appendFileSync(file, lines)
    if (recipe) surroundings.writeStore(path.join(scratch, name, 'java.store'), recipe)
    const { findings } = await examine(options)
    return findings
      .filter(({ servers }) => servers.some((server) => server.endsWith('broker')))
      .map(({ line, file: at, ...finding }) => ({ ...finding, line: line! - before, file: at }))
  }
  const store = '/opt/druid/java.store'
  const recipe = { type: 'jks', password: 'jV3-java-trust-77', trusted: ['authority'] } as const

  it('is found in a line with other options, and opened', async () => {
    const quoted = `-Xmx1g "-Djavax.net.ssl.trustStore=${store}" -Djavax.net.ssl.trustStorePassword='${recipe.password}'\n`
    assert.deepEqual(await findingsWith('single-server', quoted, recipe), [])
    // Java reads the certificates of a JKS store without its password.
    assert.deepEqual(await findingsWith('single-server', `-Djavax.net.ssl.trustStore=${store}\n`, recipe), [])
    for (const [lines, changed, code] of [
      ['', { ...recipe, type: 'pkcs12' }, 'closed'],
      ['-Djavax.net.ssl.trustStorePassword=wrong', recipe, 'closed'],
      [`-Djavax.net.ssl.trustStorePassword=${recipe.password}`, { ...recipe, trusted: [] }, 'empty'],
      ['', undefined, 'missing'],
    ] as const) {
      const [finding, ...others] = await findingsWith(
        'single-server',
        `-Djavax.net.ssl.trustStore=${changed ? store : '/opt/druid/none'}\n${lines}\n`,
        changed,
      )
      assert.deepEqual(others, [])
      assert.equal(finding?.code, `java-trust-store-${code}`)
      assert.match(finding.file, /broker\/jvm\.config$/)
      assert.equal(finding.line, lines.endsWith('wrong') ? 2 : 1)
      assert.ok(!finding.problem.includes(recipe.password))
    }
  })

  it('does not replace a missing trust store of Druid, even if it contains the authority', async () => {
    const lines = `-Djavax.net.ssl.trustStore=${store}\n-Djavax.net.ssl.trustStorePassword=${recipe.password}\n`
    const [finding] = await findingsWith('ldaps-without-trust-store', lines, recipe)
    assert.equal(finding?.code, 'directory-trust-missing')
    assert.match(finding.effect, /Druid does not fall back to the trust store \[\/opt\/druid\/java\.store\]/)
    for (const authority of ['authority', 'other'] as const) {
      const [first] = await findingsWith(
        'single-server',
        lines,
        { ...recipe, trusted: [authority] },
        (text) => text.replace(/^druid\.client\.https\.trustStorePath=.*$/m, ''),
      )
      assert.equal(first?.code, 'client-trust-missing')
      const contains = authority === 'authority' ? 'contains' : 'does not contain'
      assert.match(
        first.fix,
        new RegExp(`That trust store ${contains} the CA that issued the certificate in \\[`),
      )
    }
  })
})

describe('a configuration folder', () => {
  const metadataStore = configurations.find(({ name }) => name === 'metadata-store')!

  it('with a repeated property leads to one finding with both lines', async () => {
    const options = surroundings.prepare(metadataStore)
    const file = path.join(options.folder, '_common/common.runtime.properties')
    const lines = readFileSync(file, 'utf8').split('\n')
    const line = lines.indexOf('druid.escalator.type=basic') + 1
    appendFileSync(file, 'druid.escalator.type=basic\n')
    const { findings } = await examine(options)
    assert.deepEqual(
      findings.map(({ code, line, problem }) => ({ code, line, problem })),
      [
        {
          code: 'property-repeated',
          line: lines.length,
          problem: `[druid.escalator.type] is also set on line ${line} of the same file`,
        },
      ],
    )
  })

  it('with a backslash at the end of a line leads to a finding about the property that it swallows', async () => {
    const options = surroundings.prepare(metadataStore)
    const file = path.join(options.folder, '_common/common.runtime.properties')
    const line = readFileSync(file, 'utf8').split('\n').length
    const added = ['folder=C:\\\\druid\\', 'druid.javascript.enabled=true']
    const [list, comment] = [
      ['a.list=["x",\\', '  "y"]'],
      ['some.text=a\\', '# comment'],
    ]
    appendFileSync(file, `${[...list, `druid.some.${added[0]}`, added[1], ...comment].join('\n')}\n`)
    const { findings } = await examine(options)
    assert.deepEqual(
      findings.map(({ code, line, effect }) => ({ code, line, effect })),
      [
        {
          code: 'line-continued',
          line: line + 2,
          effect:
            '[druid.javascript.enabled] is not set, and the value of [druid.some.folder] ends with the text of that line.',
        },
        {
          code: 'line-continued',
          line: line + 4,
          effect: 'The value of [some.text] ends with the text of a comment.',
        },
      ],
    )
  })

  it('with a folder, a named pipe, or a device in place of a store or a password leads to a finding at once', async () => {
    const pipe = path.join(scratch, 'pipe')
    execFileSync('mkfifo', [pipe])
    for (const [other, is] of [
      [scratch, 'a folder'],
      [pipe, 'a named pipe'],
      ['/dev/zero', 'a device'],
    ] as const) {
      const options = surroundings.prepare(metadataStore)
      const file = path.join(options.folder, '_common/common.runtime.properties')
      const text = readFileSync(file, 'utf8')
      writeFileSync(file, text.replace(/^(druid\.server\.https\.keyStorePath)=.*$/m, `$1=${other}`))
      const { findings } = await examine(options)
      assert.deepEqual(
        findings.map(({ code, problem }) => `${code}: ${problem}`),
        [
          `store-not-a-file: The key store [${other}] from [druid.server.https.keyStorePath] is ${is}, not a file`,
        ],
      )
      const reference = `\${file:UTF-8:${other}}`
      writeFileSync(
        file,
        text.replace(
          /^(druid\.escalator\.internalClientPassword)=.*$/m,
          (_all, name) => `${name}=${reference}`,
        ),
      )
      assert.deepEqual(
        (await examine(options)).findings.map(({ code, problem }) => `${code}: ${problem}`),
        [
          `value-malformed: The value of [druid.escalator.internalClientPassword] is invalid: [${other}] is ${is}, not a file`,
        ],
      )
    }
  })

  it('with links in place of its folders is read like one with folders, even if a link leads to a folder above it', async () => {
    const options = surroundings.prepare(metadataStore)
    const elsewhere = mkdtempSync(path.join(scratch, 'linked-'))
    const folder = path.join(elsewhere, 'conf')
    cpSync(options.folder, folder, { recursive: true })
    for (const name of ['_common', 'data/historical']) {
      const [own, linked] = [path.join(folder, name), path.join(elsewhere, path.basename(name))]
      renameSync(own, linked)
      symlinkSync(linked, own)
    }
    symlinkSync('..', path.join(folder, 'data/loop'))
    symlinkSync('nowhere', path.join(folder, 'data/dangling'))
    const own = path.join(elsewhere, 'historical/runtime.properties')
    const line = readFileSync(own, 'utf8').split('\n').length
    appendFileSync(own, 'druid.escalator.internalClientPassword=another-9\n')
    const { configuration, findings } = await examine({ ...options, folder })
    assert.equal(configuration.servers.length, 5)
    assert.deepEqual(
      findings
        // Relative paths of stores lead elsewhere from the copy.
        .filter(({ code }) => code !== 'store-missing')
        .map(({ code, file, line }) => ({ code, file, line })),
      [{ code: 'escalator-differs', file: 'data/historical/runtime.properties', line }],
    )
  })

  it('with 100,000 lines is read within seconds', async () => {
    const options = surroundings.prepare(metadataStore)
    const file = path.join(options.folder, '_common/common.runtime.properties')
    appendFileSync(file, Array.from({ length: 100_000 }, (_, index) => `some.name${index}=x\n`).join(''))
    // Other tests run at the same time, so CPU time is measured.
    const before = process.cpuUsage()
    assert.deepEqual((await examine(options)).findings, [])
    const { user, system } = process.cpuUsage(before)
    assert(user + system < 20_000_000)
  })

  it('with a named pipe in place of its own files is refused at once', async () => {
    for (const end of ['_common/common.runtime.properties', 'query/broker/jvm.config']) {
      const options = surroundings.prepare(metadataStore)
      const file = path.join(options.folder, end)
      rmSync(file, { force: true })
      execFileSync('mkfifo', [file])
      await assert.rejects(examine(options), (error: Error) => {
        assert.equal(
          error.message,
          `Failed to read the file [${file}]: The path is a named pipe: expected a file`,
        )
        return true
      })
      rmSync(file)
    }
  })

  it('with a byte order mark leads to a finding about the first property', async () => {
    const options = surroundings.prepare(metadataStore)
    const file = path.join(options.folder, '_common/common.runtime.properties')
    writeFileSync(file, `\uFEFFdruid.extensions.directory=extensions\n${readFileSync(file, 'utf8')}`)
    const { findings } = await examine(options)
    assert.deepEqual(
      findings.map(({ code, line }) => ({ code, line })),
      [{ code: 'byte-order-mark', line: 1 }],
    )
  })

  it('with a backslash that starts no valid escape leads to a finding that says what Java does', async () => {
    const options = surroundings.prepare(metadataStore)
    const file = path.join(options.folder, '_common/common.runtime.properties')
    const line = readFileSync(file, 'utf8').split('\n').length
    const added = [
      String.raw`druid.auth.authenticator.x.credentialsValidator.bindUser=CORP\users`,
      String.raw`druid.auth.authenticator.x.credentialsValidator.bindPassword=bP9\secret-word`,
      String.raw`druid.some.folder=C:\druid`,
      String.raw`druid.auth.authenticator.y.credentialsValidator.bindUser=CORP\\users`,
    ]
    appendFileSync(file, `${added.join('\n')}\n`)
    const { findings } = await examine(options)
    assert.deepEqual(
      findings
        .filter(({ code }) => /escape|backslash/.test(code))
        .map(({ code, line, prevents, effect, servers }) => ({
          code,
          line,
          prevents,
          isSecret: effect.includes('secret-word'),
          servers: servers.length,
        })),
      [
        { code: 'escape-invalid', line, prevents: 'start', isSecret: false, servers: 5 },
        { code: 'backslash-ignored', line: line + 1, prevents: undefined, isSecret: false, servers: 5 },
      ],
    )
  })

  it('with control characters in values and in names of folders leads to a text without them', async () => {
    const options = surroundings.prepare(metadataStore)
    const broker = path.join(options.folder, 'query/broker')
    renameSync(broker, `${broker}\u001b[2J\u202e`)
    appendFileSync(
      path.join(`${broker}\u001b[2J\u202e`, 'runtime.properties'),
      'druid.escalator.type=bas\\u001b[2J\\u0007\\u202eic\n',
    )
    const text = examinationText(await examine(options))
    assert.equal(escapeInvisible(text.replaceAll('\n', '')), text.replaceAll('\n', ''))
    assert(text.includes(String.raw`query/broker\u001b[2J\u202e/runtime.properties:`))
    assert(text.includes(String.raw`Servers: query/broker\u001b[2J\u202e`))
  })

  it('that is not one is refused', async () => {
    const { folder, ...options } = surroundings.prepare(metadataStore)
    const message = (wrong: string) =>
      examine({ ...options, folder: wrong }).catch((error: Error) => error.message)
    assert.match(String(await message(path.join(folder, 'nowhere'))), /expected an existing folder/)
    assert.match(
      String(await message(path.join(folder, 'data'))),
      /^Missing file \[_common\/common\.runtime\.properties\]/,
    )
    assert.match(String(await message(scratch)), /contains several configurations/)
  })
})

/** The passwords in the files of all configurations, found without the code that reads configurations. */
function secretsInFiles(): string[] {
  const files = readdirSync(scratch, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && /\.properties$|jvm\.config$|^password$/.test(entry.name),
  )
  return files.flatMap(({ parentPath, name }) => {
    const text = readFileSync(path.join(parentPath, name), 'utf8')
    if (name === 'password') return [text]
    const values = [...text.matchAll(/(?:password|secretKey|accessKey)=([^\r\n]+)/gi)].map(
      ([, value]) => value as string,
    )
    return values.filter((value) => !/^(\$\{|\{)/.test(value))
  })
}

const secretsOf = ({ stores, environment }: (typeof configurations)[number]): string[] => [
  ...Object.values(stores).map(({ password }) => password),
  ...Object.entries(environment).flatMap(([name, value]) => (name.endsWith('PASSWORD') ? [value] : [])),
]
