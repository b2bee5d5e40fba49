import { readFileSync } from 'node:fs'
import { nearNames } from '@svc/domain/validation'
import { parse } from 'dot-properties'
import { requiresLogin } from './authenticators.ts'
import { loginProblems } from './login-problems.ts'
import { definitionOf, type PropertyDefinition, properties, type Role } from './properties.ts'
import type { Settings } from './settings.ts'

/** The value of a property and where it was set: a file or the environment. */
interface RawProperty {
  readonly text: string
  readonly source: string
}

/** All problems of a configuration. Each names the source, the property, the value, and what is expected. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]
  /** The settings that could be read, in which the caller can look for further problems. */
  readonly readable: ReadableSettings | undefined

  constructor(problems: readonly string[], readable?: ReadableSettings) {
    super(
      `Invalid configuration (${problems.length} ${problems.length === 1 ? 'problem' : 'problems'}):\n${problems.map((line) => `  ${line}`).join('\n')}`,
    )
    this.name = 'ConfigurationError'
    this.problems = problems
    this.readable = readable
  }
}

/** Settings in which the `faulty` properties have invalid values, and return their defaults instead. */
export interface ReadableSettings {
  readonly settings: Settings
  readonly faulty: ReadonlySet<string>
}

/**
 * Reads the configuration of a server. Later files override earlier ones, and the environment (`svc_plaintextPort` for
 * `svc.plaintextPort`) overrides files. Throws a ConfigurationError with all problems.
 */
export function loadSettings(role: Role, files: readonly string[], environment: NodeJS.ProcessEnv): Settings {
  const problems: string[] = []
  const raw = new Map<string, RawProperty>()
  for (const file of files)
    for (const [name, text] of readFile(file, problems)) raw.set(name, { text, source: file })
  for (const [variable, text] of Object.entries(environment)) {
    if (!variable.startsWith('svc_') || text === undefined) continue
    raw.set(variable.replaceAll('_', '.'), { text, source: `environment variable ${variable}` })
  }
  const values = new Map<string, unknown>()
  const faulty = new Set<string>()
  for (const [name, { text, source }] of raw) {
    if (!name.startsWith('svc.')) continue
    const { definition } = definitionOf(name) ?? {}
    if (!definition) {
      problems.push(`${source}: Unknown property [${name}]; the closest match is [${nearestProperty(name)}]`)
      continue
    }
    try {
      // Spaces around a password may be part of it.
      values.set(name, definition.type.read(definition.secret ? text : text.trim(), environment))
    } catch (error) {
      const shown = definition.secret ? 'Invalid value' : `Invalid value [${text}]`
      const why = (error as Error).message
      faulty.add(name)
      problems.push(
        why === 'not allowed'
          ? `${source}: ${shown} for [${name}]: expected ${definition.type.allowed}`
          : `${source}: Cannot use the value of [${name}]: ${why}`,
      )
    }
  }
  const settings = createSettings(role, raw, values, environment)
  problems.push(...contradictions(settings, raw))
  problems.push(...loginProblems(settings, sourcesOf(raw)))
  if (problems.length > 0) throw new ConfigurationError(problems, { settings, faulty })
  return settings
}

function readFile(file: string, problems: string[]): [string, string][] {
  try {
    return Object.entries(parse(readFileSync(file, 'utf8'))) as [string, string][]
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    problems.push(`${file}: Failed to read the file (${code ?? message})`)
    return []
  }
}

function createSettings(
  role: Role,
  raw: ReadonlyMap<string, RawProperty>,
  values: ReadonlyMap<string, unknown>,
  environment: NodeJS.ProcessEnv,
): Settings {
  const defaults = new Map<string, unknown>()
  const read = (name: string, definition: PropertyDefinition<unknown>): unknown => {
    if (values.has(name)) return values.get(name)
    if (!defaults.has(name)) {
      const text = typeof definition.fallback === 'object' ? definition.fallback[role] : definition.fallback
      defaults.set(name, text === undefined ? undefined : readDefault(definition, text, environment))
    }
    return defaults.get(name)
  }
  return {
    role,
    names: [...raw.keys()].filter((name) => name.startsWith('svc.')),
    get: (name) => read(name, properties[name]) as never,
    getNamed: (name, instance) =>
      read(
        name.replace('<name>', () => instance),
        properties[name],
      ) as never,
    list: () => {
      const shown: Record<string, string> = {}
      for (const [name, definition] of Object.entries<PropertyDefinition<unknown>>(properties)) {
        if (name.includes('<name>') || definition.secret || definition.fallback === undefined) continue
        shown[name] =
          typeof definition.fallback === 'object' ? definition.fallback[role] : definition.fallback
      }
      for (const [name, { text }] of raw)
        if (!definitionOf(name)?.definition.secret && name.startsWith('svc.')) shown[name] = text
      return shown
    },
  }
}

/** Parses a default. The default of passwords is empty, which the parser would reject. */
function readDefault(
  definition: PropertyDefinition<unknown>,
  text: string,
  environment: NodeJS.ProcessEnv,
): unknown {
  return text === '' ? '' : definition.type.read(text, environment)
}

/**
 * Returns the known property with the most similar name, with the authenticator or authorizer of `name` in place of
 * `<name>`.
 */
function nearestProperty(name: string): string {
  const parts = name.split('.')
  const known = Object.keys(properties).map((one) => {
    const position = one.split('.').indexOf('<name>')
    return one.replace('<name>', () => parts[position] || '<name>')
  })
  return nearNames(name, known, 1)[0] as string
}

/** Returns where a property was set. */
type SourceOf = (property: string) => string

const sourcesOf =
  (raw: ReadonlyMap<string, RawProperty>): SourceOf =>
  (name) =>
    raw.get(name)?.source ?? 'defaults'

/** Returns problems of properties that are valid on their own, but contradict each other. */
function contradictions(settings: Settings, raw: ReadonlyMap<string, RawProperty>): string[] {
  const at = sourcesOf(raw)
  const isChainSet = raw.has('svc.auth.authenticatorChain')
  return [
    ...portProblems(settings, at),
    ...simulationProblems(settings, at),
    ...chainProblems(settings, at, isChainSet),
    ...settings
      .get('svc.auth.authenticatorChain')
      .flatMap((name) => authenticatorProblems(name, settings, at)),
    ...authorizerProblems(settings, at),
    ...escalatorProblems(settings, at),
    ...s3Problems(settings, at),
  ]
}

function portProblems(settings: Settings, at: SourceOf): string[] {
  const problems: string[] = []
  const plaintext = settings.get('svc.enablePlaintextPort')
  const tls = settings.get('svc.enableTlsPort')
  if (!plaintext && !tls) {
    problems.push(
      `${at('svc.enablePlaintextPort')}: [svc.enablePlaintextPort] and [svc.enableTlsPort] are both [false]; at least one must be [true]`,
    )
  }
  if (tls && settings.get('svc.server.https.keyStorePath') === undefined) {
    problems.push(
      `${at('svc.enableTlsPort')}: [svc.enableTlsPort] is [true], but [svc.server.https.keyStorePath] is not set; set it to the path of the key store that contains this server's certificate`,
    )
  }
  if (!tls && settings.get('svc.server.https.requireClientCertificate')) {
    problems.push(
      `${at('svc.server.https.requireClientCertificate')}: [svc.server.https.requireClientCertificate] is [true], but [svc.enableTlsPort] is [false], so clients could connect without a certificate`,
    )
  }
  for (const name of ['requireClientCertificate', 'requestClientCertificate'] as const) {
    const property = `svc.server.https.${name}` as const
    if (!tls || !settings.get(property) || settings.get('svc.server.https.trustStorePath')) continue
    problems.push(
      `${at(property)}: [${property}] is [true], but [svc.server.https.trustStorePath] is not set; set it to the path of the trust store for client certificates`,
    )
  }
  return problems
}

function simulationProblems(settings: Settings, at: SourceOf): string[] {
  const problems: string[] = []
  if (settings.get('svc.simulation.virtualServers').length > 0 && !settings.get('svc.simulation.enabled')) {
    problems.push(
      `${at('svc.simulation.virtualServers')}: [svc.simulation.virtualServers] is set, but [svc.simulation.enabled] is [false]; virtual servers are only available in simulations`,
    )
  }
  return problems
}

function chainProblems(settings: Settings, at: SourceOf, isChainSet: boolean): string[] {
  const problems: string[] = []
  if (settings.get('svc.auth.authenticatorChain').length === 0) {
    problems.push(
      `${at('svc.auth.authenticatorChain')}: [svc.auth.authenticatorChain] is empty, so nobody could log in; expected a list of at least one authenticator`,
    )
  }
  const meant = isChainSet ? undefined : configuredLogin(settings)
  if (meant !== undefined) {
    problems.push(
      `${at(meant)}: [${meant}] is [basic], but [svc.auth.authenticatorChain] is not set, so no login would be required; expected a list of authenticators, or ["allowAll"] to allow everything`,
    )
  }
  return problems
}

function authenticatorProblems(name: string, settings: Settings, at: SourceOf): string[] {
  const problems: string[] = []
  if (name === 'allowAll') return problems
  const authorizers = settings.get('svc.auth.authorizers')
  const prefix = `svc.auth.authenticator.${name}`
  if (settings.getNamed('svc.auth.authenticator.<name>.type', name) === undefined) {
    problems.push(
      `${at('svc.auth.authenticatorChain')}: [svc.auth.authenticatorChain] contains [${name}], but [${prefix}.type] is not set; expected [basic] or [allowAll]`,
    )
  }
  const authorizer = settings.getNamed('svc.auth.authenticator.<name>.authorizerName', name)
  if (authorizer === undefined || !authorizers.includes(authorizer)) {
    problems.push(
      `${at(`${prefix}.authorizerName`)}: [${prefix}.authorizerName] is [${authorizer ?? ''}]; expected one of the authorizers in [svc.auth.authorizers]: [${authorizers.join(', ')}]`,
    )
  }
  if (settings.getNamed('svc.auth.authenticator.<name>.enableCacheNotifications', name) === false) {
    problems.push(
      `${at(`${prefix}.enableCacheNotifications`)}: [${prefix}.enableCacheNotifications] is [false]; expected [true], because svc always sends changes to the other servers immediately`,
    )
  }
  return problems
}

function authorizerProblems(settings: Settings, at: SourceOf): string[] {
  const problems: string[] = []
  for (const name of settings.get('svc.auth.authorizers')) {
    if (name !== 'allowAll' && settings.getNamed('svc.auth.authorizer.<name>.type', name) === undefined) {
      problems.push(
        `${at('svc.auth.authorizers')}: [svc.auth.authorizers] contains [${name}], but [svc.auth.authorizer.${name}.type] is not set; expected [basic] or [allowAll]`,
      )
    }
  }
  return problems
}

function escalatorProblems(settings: Settings, at: SourceOf): string[] {
  const problems: string[] = []
  if (settings.get('svc.escalator.type') === 'basic') {
    if (!settings.get('svc.escalator.internalClientPassword')) {
      problems.push(
        `${at('svc.escalator.type')}: [svc.escalator.type] is [basic], but [svc.escalator.internalClientPassword] is not set`,
      )
    }
  } else if (requiresLogin(settings)) {
    problems.push(
      `${at('svc.escalator.type')}: [svc.escalator.type] is [noop], but [svc.auth.authenticatorChain] requires logins, so the servers could not call each other; expected [basic]`,
    )
  }
  return problems
}

function s3Problems(settings: Settings, at: SourceOf): string[] {
  const problems: string[] = []
  for (const [type, bucket] of [
    ['svc.storage.type', 'svc.storage.bucket'],
    ['svc.indexer.logs.type', 'svc.indexer.logs.s3Bucket'],
  ] as const) {
    if (settings.get(type) !== 's3' || settings.get(bucket) !== undefined) continue
    problems.push(`${at(type)}: [${type}] is [s3], but [${bucket}] is not set`)
  }
  const keys = ['svc.s3.accessKey', 'svc.s3.secretKey'] as const
  const missing = keys.filter((key) => !settings.get(key))
  const [key = keys[0]] = missing
  if (missing.length === 1) {
    const other = keys.find((name) => name !== key) as string
    problems.push(`${at(other)}: [${other}] is set, but [${key}] is not; set both or neither`)
  }
  return problems
}

/** Returns the first property that configures a basic authenticator or authorizer. */
const configuredLogin = (settings: Settings): string | undefined =>
  settings.names.find((property) => {
    const [, kind, name = ''] = /^svc\.auth\.(authenticator|authorizer)\.([^.]+)\.type$/.exec(property) ?? []
    if (kind === 'authenticator')
      return settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'basic'
    return kind === 'authorizer' && settings.getNamed('svc.auth.authorizer.<name>.type', name) === 'basic'
  })
