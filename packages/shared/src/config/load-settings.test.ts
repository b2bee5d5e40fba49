import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { temporaryFolder } from '../testing/index.ts'
import { ConfigurationError, loadSettings, type Role } from './index.ts'

const folder = temporaryFolder({ after })
let files = 0

/** A properties file with these lines. */
function file(...lines: string[]): string {
  const name = path.join(folder, `${++files}.properties`)
  writeFileSync(name, `${lines.join('\n')}\n`)
  return name
}

/** The problems of a configuration, with the name of its only file as FILE. */
function problemsOf(
  lines: readonly string[],
  environment: Record<string, string> = {},
  role: Role = 'router',
) {
  const name = file(...lines)
  try {
    loadSettings(role, [name], environment)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error))
    return error.problems.map((problem) => problem.replaceAll(name, 'FILE'))
  }
}

const login = [
  'svc.auth.authenticatorChain=["a"]',
  'svc.auth.authenticator.a.type=basic',
  'svc.auth.authenticator.a.authorizerName=z',
  'svc.auth.authorizers=["z"]',
  'svc.auth.authorizer.z.type=basic',
  'svc.escalator.type=basic',
  'svc.escalator.internalClientPassword=secret',
]
/** The lines of `login`, in which these lines replace those that set the same property. */
const loginWith = (...lines: string[]) => {
  const name = (line: string) => line.split('=', 1)[0]
  return [...login.filter((line) => !lines.some((other) => name(other) === name(line))), ...lines]
}

describe('settings', () => {
  it('have defaults without any file', () => {
    const settings = loadSettings('historical', [], {})
    assert.equal(settings.get('svc.plaintextPort'), 8083)
    assert.equal(settings.get('svc.tlsPort'), 8283)
    assert.equal(settings.get('svc.enablePlaintextPort'), true)
    assert.equal(settings.get('svc.enableTlsPort'), false)
    assert.equal(settings.get('svc.service'), 'svc/historical')
    assert.deepEqual(settings.get('svc.auth.authenticatorChain'), ['allowAll'])
    assert.equal(settings.get('svc.escalator.type'), 'noop')
    assert.equal(settings.get('svc.metadata.storage.connector.password'), '')
    assert.equal(settings.get('svc.server.https.keyStorePath'), undefined)
    assert.equal(settings.get('svc.server.maxSize'), 0)
  })

  it('come from files in order, which the environment overrides', () => {
    const first = file('svc.server.tier=one', 'svc.server.priority=1', 'svc.host=h1')
    const second = file('svc.server.tier=two', 'svc.server.priority=2')
    const settings = loadSettings('historical', [first, second], { svc_server_tier: 'three', PATH: '/bin' })
    assert.equal(settings.get('svc.server.tier'), 'three')
    assert.equal(settings.get('svc.server.priority'), 2)
    assert.equal(settings.get('svc.host'), 'h1')
  })

  it('are read from the Java properties format', () => {
    const written = file(
      '# a comment',
      '! another',
      'svc.server.tier : hot',
      'svc.host = \\u0068ost',
      'svc.service=svc/\\',
      '    historical',
      'other.system=ignored',
    )
    const settings = loadSettings('historical', [written], {})
    assert.equal(settings.get('svc.server.tier'), 'hot')
    assert.equal(settings.get('svc.host'), 'host')
    assert.equal(settings.get('svc.service'), 'svc/historical')
  })
})

describe('values', () => {
  const values: readonly [property: string, text: string, value: unknown][] = [
    ['svc.enableTlsPort', 'false', false],
    ['svc.plaintextPort', ' 9999 ', 9999],
    ['svc.server.priority', '-7', -7],
    ['svc.server.maxSize', '300g', 300e9],
    ['svc.server.maxSize', '300GB', 300e9],
    ['svc.server.maxSize', '5GiB', 5 * 2 ** 30],
    ['svc.server.maxSize', '17 k', 17_000],
    ['svc.server.maxSize', '123', 123],
    ['svc.coordinator.period', 'PT5S', 5000],
    ['svc.coordinator.period', 'PT0.25S', 250],
    ['svc.coordinator.period', 'P1DT2H3M4S', 93_784_000],
    ['svc.coordinator.period', 'P2W', 1_209_600_000],
    ['svc.ingestion.local.allowedRoots', '["/a", "/b c"]', ['/a', '/b c']],
    ['svc.segmentCache.locations', '[{"path":"/c","maxSize":"1KiB"}]', [{ path: '/c', maxSizeBytes: 1024 }]],
    ['svc.segmentCache.locations', '[{"path":"/c","maxSize":10}]', [{ path: '/c', maxSizeBytes: 10 }]],
    [
      'svc.segmentCache.locations',
      '[{"path":"/c"}]',
      [{ path: '/c', maxSizeBytes: Number.MAX_SAFE_INTEGER }],
    ],
    ['svc.client.https.protocol', 'TLSv1.3', 'TLSv1.3'],
    ['svc.simulation.virtualServers', '[]', []],
  ]
  for (const [property, text, value] of values) {
    it(`reads [${text}] of ${property} as ${JSON.stringify(value)}`, () => {
      const settings = loadSettings('historical', [file(`${property}=${text}`)], {})
      assert.deepEqual(settings.get(property as 'svc.server.maxSize'), value)
    })
  }

  it('reads virtual servers as groups by tier, or single servers by name', () => {
    const text = '[{"name":"a:1","size":"1KiB"},{"count":2,"size":3,"tier":"hot","priority":5}]'
    const settings = loadSettings(
      'historical',
      [file(`svc.simulation.enabled=true\nsvc.simulation.virtualServers=${text}`)],
      {},
    )
    const others = { type: 'historical', bytesPerSecond: 100 * 2 ** 20, failureProbability: 0 }
    assert.deepEqual(settings.get('svc.simulation.virtualServers'), [
      { count: 1, name: 'a:1', tier: '_default_tier', priority: 0, maxSizeBytes: 1024, ...others },
      { count: 2, tier: 'hot', priority: 5, maxSizeBytes: 3, ...others },
    ])
  })

  const refused: readonly [property: string, text: string, allowed: RegExp][] = [
    ['svc.enableTlsPort', 'yes', /true or false$/],
    ['svc.enableTlsPort', 'TRUE', /true or false$/],
    ['svc.plaintextPort', '0', /from 1 to 65535$/],
    ['svc.plaintextPort', '65536', /from 1 to 65535$/],
    ['svc.plaintextPort', '80.5', /from 1 to 65535$/],
    ['svc.plaintextPort', '0x50', /from 1 to 65535$/],
    ['svc.plaintextPort', '', /from 1 to 65535$/],
    ['svc.host', '', /a non-empty string$/],
    ['svc.server.maxSize', '5 apples', /a size in bytes/],
    ['svc.server.maxSize', '-1', /a size in bytes/],
    ['svc.server.maxSize', '9999p', /a size in bytes/],
    ['svc.server.maxSize', '1constructor', /a size in bytes/],
    ['svc.coordinator.period', 'P1M', /without years or months$/],
    ['svc.coordinator.period', 'PT', /without years or months$/],
    ['svc.coordinator.period', 'P', /without years or months$/],
    ['svc.coordinator.period', 'P1DT', /without years or months$/],
    ['svc.coordinator.period', '5', /without years or months$/],
    ['svc.auth.authorizers', 'z', /a JSON list of strings/],
    ['svc.auth.authorizers', '{"a":1}', /a JSON list of strings/],
    ['svc.auth.authorizers', '["a",1]', /a JSON list of strings/],
    ['svc.auth.authorizers', '["a",""]', /a JSON list of strings/],
    ['svc.segmentCache.locations', '[{"path":""}]', /a JSON list such as/],
    ['svc.segmentCache.locations', '[{"path":"/c","size":1}]', /a JSON list such as/],
    ['svc.segmentCache.locations', '[null]', /a JSON list such as/],
    ['svc.segmentCache.locations', '{"path":"/c"}', /a JSON list such as/],
    ['svc.simulation.virtualServers', '[{"count":1}]', /a JSON list of at most 10000 servers/],
    ['svc.simulation.virtualServers', '[{"count":0,"size":"1g"}]', /a JSON list of at most 10000 servers/],
    [
      'svc.simulation.virtualServers',
      '[{"count":1,"size":"1g","failureProbability":2}]',
      /a JSON list of at most 10000 servers/,
    ],
    [
      'svc.simulation.virtualServers',
      '[{"count":1,"size":"1g","loadBytesPerSecond":0}]',
      /a JSON list of at most 10000 servers/,
    ],
    [
      'svc.simulation.virtualServers',
      '[{"count":10001,"size":"1g"}]',
      /a JSON list of at most 10000 servers/,
    ],
    [
      'svc.simulation.virtualServers',
      '[{"name":"a","size":1},{"name":"a","size":1}]',
      /one entry for each named server/,
    ],
    ['svc.simulation.virtualServers', '[{"name":"a","count":2,"size":1}]', /one entry for each named server/],
    ['svc.simulation.virtualServers', '[{"name":"","size":1}]', /one entry for each named server/],
    [
      'svc.simulation.virtualServers',
      '[{"count":1,"size":1,"priority":0.5}]',
      /one entry for each named server/,
    ],
    ['svc.log.level', 'trace', /one of \[error, warn, info, debug\]$/],
    ['svc.storage.type', 'hdfs', /one of \[local, s3\]$/],
    ['svc.indexer.logs.type', 'hdfs', /one of \[file, s3\]$/],
    ['svc.s3.endpoint.url', 's3.example.com', /an http or https URL such as/],
    ['svc.storage.baseKey', 'a//b', /a path such as svc\/segments, in which no part is empty/],
    ['svc.storage.baseKey', '../b', /a path such as svc\/segments, in which no part is empty/],
    ['svc.server.https.keyStoreType', 'bks', /one of \[jks, pkcs12, pem\]$/],
    ['svc.server.priority', '1001', /from -1000 to 1000$/],
  ]
  for (const [property, text, allowed] of refused) {
    it(`rejects [${text}] for ${property}`, () => {
      const [problem = ''] = problemsOf([`${property}=${text}`])
      assert.ok(problem.startsWith(`FILE: Invalid value [${text}] for [${property}]: expected `), problem)
      assert.match(problem, allowed)
    })
  }
})

describe('problems', () => {
  it('are reported all at once, each with its source', () => {
    const problems = problemsOf(
      ['svc.plaintextPort=none', 'svc.coordinatr.period=PT5S', 'svc.enablePlaintextPort=false'],
      { svc_server_priority: 'high', svc_tier: 'hot' },
    )
    assert.deepEqual(problems, [
      'FILE: Invalid value [none] for [svc.plaintextPort]: expected an integer from 1 to 65535',
      'FILE: Unknown property [svc.coordinatr.period]; the closest match is [svc.coordinator.period]',
      'environment variable svc_server_priority: Invalid value [high] for [svc.server.priority]: expected an integer from -1000 to 1000',
      'environment variable svc_tier: Unknown property [svc.tier]; the closest match is [svc.host]',
      'FILE: [svc.enablePlaintextPort] and [svc.enableTlsPort] are both [false]; at least one must be [true]',
    ])
  })

  it('name the bucket and the key that S3 needs', () => {
    assert.deepEqual(
      problemsOf(['svc.storage.type=s3', 'svc.indexer.logs.type=s3', 'svc.s3.secretKey=hunter2']),
      [
        'FILE: [svc.storage.type] is [s3], but [svc.storage.bucket] is not set',
        'FILE: [svc.indexer.logs.type] is [s3], but [svc.indexer.logs.s3Bucket] is not set',
        'FILE: [svc.s3.secretKey] is set, but [svc.s3.accessKey] is not; set both or neither',
      ],
    )
  })

  it('are all reported even if a file is missing', () => {
    assert.throws(
      () => loadSettings('router', ['/nowhere/common.properties', file('svc.tlsPort=x')], {}),
      (error: ConfigurationError) => {
        assert.match(error.message, /^Invalid configuration \(2 problems\):\n {2}\/nowhere/)
        assert.match(
          error.problems[0] ?? '',
          /^\/nowhere\/common\.properties: Failed to read the file \(ENOENT\)$/,
        )
        assert.match(error.problems[1] ?? '', /svc\.tlsPort/)
        return true
      },
    )
  })

  const nearest: readonly [written: string, meant: string][] = [
    ['svc.plainTextPort', 'svc.plaintextPort'],
    ['svc.segmentCache.location', 'svc.segmentCache.locations'],
    ['svc.auth.authenticator.mine.initialAdminPasswort', 'svc.auth.authenticator.mine.initialAdminPassword'],
    ['svc.auth.authorizer.mine.typo', 'svc.auth.authorizer.mine.type'],
    ['svc.auth.authenticator.mine.kind', 'svc.auth.authenticator.mine.type'],
    ['svc.escalator.internalClientUser', 'svc.escalator.internalClientUsername'],
    ['svc.queue.redis.pasword', 'svc.queue.redis.password'],
    ['svc.__proto__', 'svc.host'],
  ]
  for (const [written, meant] of nearest) {
    it(`suggest ${meant} for the unknown property ${written}, and do not show its value`, () => {
      const [problem] = problemsOf([`${written}=hunter2`])
      assert.equal(problem, `FILE: Unknown property [${written}]; the closest match is [${meant}]`)
    })
  }
})

describe('names with control characters', () => {
  for (const [line, problem] of [
    [
      'svc.server.tier=ho\\u0000t',
      'Cannot use the value of [svc.server.tier]: it contains a control character',
    ],
    [
      'svc.escalator.internalClientUsername=svc\\tsystem',
      'Cannot use the value of [svc.escalator.internalClientUsername]: it contains a control character',
    ],
    [
      'svc.auth.authenticatorChain=["a\\\\u0000"]',
      'Cannot use the value of [svc.auth.authenticatorChain]: it contains a control character',
    ],
    [
      'svc.escalator.internalClientPassword=secret\\u0000',
      'Invalid value for [svc.escalator.internalClientPassword]: expected a password without control characters',
    ],
  ] as const) {
    it(`are rejected in ${line}`, () => {
      const problems = problemsOf(loginWith(line))
      assert.ok(problems.includes(`FILE: ${problem}`), problems.join('\n'))
    })
  }

  for (const group of [
    '{"count":1,"tier":"h\\\\u0000t","size":"1g"}',
    '{"name":"a\\\\ud83d:1","tier":"hot","size":"1g"}',
  ]) {
    it(`are rejected in the virtual servers ${group}`, () => {
      const problems = problemsOf([`svc.simulation.virtualServers=[${group}]`], {}, 'historical')
      assert.match(
        problems.join(),
        /^FILE: Invalid value \[.*\] for \[svc\.simulation\.virtualServers\]: expected a JSON list of at most 10000 servers/,
      )
    })
  }
})

describe('passwords', () => {
  const property = 'svc.metadata.storage.connector.password'
  const secretFile = path.join(folder, 'password')
  writeFileSync(secretFile, 'from a file\n')
  const given: readonly [name: string, text: string, password: string][] = [
    ['plain text', 'plain', 'plain'],
    ['plain text with a brace', '{x', '{x'],
    ['a file', `{"type":"file","path":${JSON.stringify(secretFile)}}`, 'from a file'],
    ['an environment variable', '{"type":"environment","variable":"THE_PASSWORD"}', 'from outside'],
    ['the default provider', '{"type":"default","password":"inside"}', 'inside'],
  ]
  for (const [name, text, password] of given) {
    it(`may be ${name}`, () => {
      const settings = loadSettings('router', [file(`${property}=${text}`)], { THE_PASSWORD: 'from outside' })
      assert.equal(settings.get(property), password)
    })
  }

  it('keep the spaces around them', () => {
    const settings = loadSettings('router', [], { svc_metadata_storage_connector_password: ' blank ' })
    assert.equal(settings.get(property), ' blank ')
  })

  const refused: readonly [name: string, text: string, problem: RegExp][] = [
    [
      'from a missing file',
      '{"type":"file","path":"/nowhere/p"}',
      /cannot read the password file \[\/nowhere\/p\] \(ENOENT\)$/,
    ],
    [
      'from an unset variable',
      '{"type":"environment","variable":"NOT_SET"}',
      /variable \[NOT_SET\] is not set$/,
    ],
    [
      'from an unknown provider',
      '{"type":"vault","password":"hunter2"}',
      /: expected a password, \{"type":"file"/,
    ],
    ['from a provider without its field', '{"type":"file","password":"hunter2"}', /: expected a password/],
    ['in broken JSON', '{"type":"hunter2"', /: expected a password/],
  ]
  for (const [name, text, expected] of refused) {
    it(`${name} are rejected without being shown`, () => {
      const [problem = ''] = problemsOf([`${property}=${text}`])
      assert.match(problem, expected)
      assert.ok(problem.startsWith('FILE: ') && problem.includes(` [${property}]: `), problem)
      assert.ok(!problem.includes('hunter2'))
    })
  }

  for (const url of [
    'ldap://search:a-secret@ldap:389',
    'ldap://search:a#secret@ldap:389',
    'search:a-secret@ldap',
  ]) {
    it(`in the URL of a directory are rejected without being shown: ${url}`, () => {
      const validator = 'svc.auth.authenticator.a.credentialsValidator'
      const problems = problemsOf(
        loginWith(
          `${validator}.type=ldap`,
          `${validator}.url=${url}`,
          `${validator}.baseDn=dc=example,dc=org`,
        ),
      )
      assert.match(problems.join('\n'), /\.url\] contains credentials/)
      assert.doesNotMatch(problems.join('\n'), /a.secret/)
    })
  }

  it('are never listed, in whichever form they were configured', () => {
    const settings = loadSettings(
      'coordinator',
      [
        file(
          ...login,
          'svc.auth.authenticator.a.initialAdminPassword=secret-1',
          `svc.queue.redis.password={"type":"file","path":${JSON.stringify(secretFile)}}`,
          'svc.server.https.keyStorePassword=secret-2',
          'svc.client.https.trustStorePassword=secret-3',
        ),
      ],
      { svc_auth_authenticator_a_initialInternalClientPassword: 'secret-4', UNRELATED: 'secret-5' },
    )
    const listed = settings.list()
    assert.equal(listed['svc.auth.authenticator.a.type'], 'basic')
    assert.equal(listed['svc.plaintextPort'], '8081', 'defaults are listed')
    assert.equal(listed['svc.escalator.internalClientUsername'], 'svc_system')
    assert.ok(!/secret|from a file|assword/.test(JSON.stringify(listed)), JSON.stringify(listed))
  })
})

describe('properties with a name in them', () => {
  it('are distinguished by the part after the name', () => {
    const settings = loadSettings(
      'router',
      [
        file(
          ...login,
          'svc.auth.authenticator.a.credentialsValidator.type=metadata',
          'svc.auth.authenticator.b.type=allowAll',
          'svc.auth.authenticator.b.skipOnFailure=true',
        ),
      ],
      {},
    )
    assert.equal(settings.getNamed('svc.auth.authenticator.<name>.type', 'a'), 'basic')
    assert.equal(
      settings.getNamed('svc.auth.authenticator.<name>.credentialsValidator.type', 'a'),
      'metadata',
    )
    assert.equal(settings.getNamed('svc.auth.authenticator.<name>.type', 'b'), 'allowAll')
    assert.equal(settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', 'a'), false)
    assert.equal(settings.getNamed('svc.auth.authenticator.<name>.skipOnFailure', 'b'), true)
    assert.equal(settings.getNamed('svc.auth.authenticator.<name>.type', 'c'), undefined)
  })

  it('distinguish the validator from the authenticator', () => {
    const problems = problemsOf(['svc.auth.authenticator.a.credentialsValidator.type=basic'])
    assert.match(
      problems[0] ?? '',
      /Invalid value \[basic\] for \[.*credentialsValidator\.type\]: expected one of \[metadata, ldap\]$/,
    )
  })

  it('are found under names that look like a replacement pattern', () => {
    const settings = loadSettings('router', [file(...login, 'svc.auth.authorizer.$&.type=basic')], {})
    assert.equal(settings.getNamed('svc.auth.authorizer.<name>.type', '$&'), 'basic')
  })
})

describe('contradictions', () => {
  const cases: readonly { name: string; lines: string[]; problems: RegExp[] }[] = [
    { name: 'none for a complete login', lines: login, problems: [] },
    {
      name: 'TLS without a key store',
      lines: ['svc.enableTlsPort=true'],
      problems: [
        /^FILE: \[svc.enableTlsPort\] is \[true\], but \[svc.server.https.keyStorePath\] is not set/,
      ],
    },
    {
      name: 'a chain with an authenticator without a type',
      lines: loginWith('svc.auth.authenticatorChain=["a","b"]', 'svc.auth.authenticator.b.authorizerName=z'),
      problems: [/^FILE: .*Chain\] contains \[b\], but \[svc.auth.authenticator.b.type\] is not set/],
    },
    {
      name: 'an authenticator with an unknown authorizer',
      lines: loginWith('svc.auth.authenticator.a.authorizerName=y'),
      problems: [
        /^FILE: .*a\.authorizerName\] is \[y\]; expected one of the authorizers in \[svc\.auth\.authorizers\]: \[z\]$/,
      ],
    },
    {
      name: 'an authenticator without an authorizer',
      lines: login.filter((line) => !line.includes('authorizerName')),
      problems: [/^defaults: .*a\.authorizerName\] is \[\]/],
    },
    {
      name: 'an authorizer without a type',
      lines: loginWith('svc.auth.authorizers=["z","y"]'),
      problems: [/^FILE: .*contains \[y\], but \[svc.auth.authorizer.y.type\] is not set/],
    },
    {
      name: 'logins without an escalator',
      lines: login.filter((line) => !line.includes('escalator')),
      problems: [/^defaults: \[svc.escalator.type\] is \[noop\], but .*requires logins/],
    },
    {
      name: 'an authorizer without a login',
      lines: ['svc.auth.authorizers=["z"]', 'svc.auth.authorizer.z.type=basic'],
      problems: [/^FILE: .*z\.type\] is \[basic\], but .*Chain\] is not set, so no login would be required/],
    },
    {
      name: 'an authenticator outside the chain',
      lines: ['svc.auth.authenticator.a.type=basic'],
      problems: [/^FILE: .*a\.type\] is \[basic\], but .*Chain\] is not set, so no login would be required/],
    },
    {
      name: 'none for an authorizer with an explicitly open chain',
      lines: ['svc.auth.authenticatorChain=["allowAll"]', 'svc.auth.authorizer.z.type=basic'],
      problems: [],
    },
    {
      name: 'client certificates without TLS',
      lines: ['svc.server.https.requireClientCertificate=true'],
      problems: [/^FILE: .*requireClientCertificate\] is \[true\], but \[svc.enableTlsPort\] is \[false\]/],
    },
    {
      name: 'an escalator without a password',
      lines: login.filter((line) => !line.includes('internalClientPassword')),
      problems: [/^FILE: \[svc.escalator.type\] is \[basic\], but .*Password\] is not set$/],
    },
    {
      name: 'disabled notifications',
      lines: [...login, 'svc.auth.authenticator.a.enableCacheNotifications=false'],
      problems: [/enableCacheNotifications\] is \[false\]; expected \[true\]/],
    },
    {
      name: 'an empty chain',
      lines: loginWith('svc.auth.authenticatorChain=[]'),
      problems: [/^FILE: \[svc.auth.authenticatorChain\] is empty, so nobody could log in; expected/],
    },
    {
      name: 'no escalator for an authenticator of type allowAll with another name',
      lines: [
        'svc.auth.authenticatorChain=["open"]',
        'svc.auth.authenticator.open.type=allowAll',
        'svc.auth.authenticator.open.authorizerName=allowAll',
      ],
      problems: [],
    },
    {
      name: 'several at once',
      lines: [
        'svc.enablePlaintextPort=false',
        'svc.auth.authenticatorChain=["a"]',
        'svc.auth.authorizers=["z"]',
      ],
      problems: [
        /both \[false\]/,
        /a\.type\] is not set/,
        /a\.authorizerName/,
        /z\.type\] is not set/,
        /is \[noop\]/,
      ],
    },
  ]
  for (const { name, lines, problems: expected } of cases) {
    it(name, () => {
      const problems = problemsOf(lines)
      assert.equal(problems.length, expected.length, problems.join('\n'))
      expected.forEach((pattern, index) => void assert.match(problems[index] ?? '', pattern))
    })
  }
})
