import { readFileSync } from 'node:fs'
import { nearNames } from '@svc/domain/validation'
import { parse } from 'dot-properties'
import { asksForLogin } from './authenticators.ts'
import { loginProblems } from './login-problems.ts'
import { definitionOf, type PropertyDefinition, properties, type Role } from './properties.ts'
import type { Settings } from './settings.ts'

/** Where one property was set: a file, the environment, or the defaults. */
interface RawProperty {
  readonly text: string
  readonly source: string
}

/** All that is wrong with a configuration, each with source, property, value and what is allowed. */
export class ConfigurationError extends Error {
  readonly problems: readonly string[]
  /** What could be read all the same, so that whoever reports can look for more. */
  readonly readable: ReadableSettings | undefined

  constructor(problems: readonly string[], readable?: ReadableSettings) {
    super(
      `The configuration has ${problems.length} problem(s):\n${problems.map((line) => `  ${line}`).join('\n')}`,
    )
    this.name = 'ConfigurationError'
    this.problems = problems
    this.readable = readable
  }
}

/** Settings of which some properties have no value that could be used; these have their defaults. */
export interface ReadableSettings {
  readonly settings: Settings
  readonly faulty: ReadonlySet<string>
}

/**
 * Reads the configuration of a server: files in order, later ones win, the environment (`svc_plaintextPort` for
 * `svc.plaintextPort`) wins over files. Throws one ConfigurationError that names every problem.
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
      problems.push(
        `${source}: [${name}] is not a property; the nearest known one is [${nearestProperty(name)}]`,
      )
      continue
    }
    try {
      // Blanks around a password may be part of it.
      values.set(name, definition.type.read(definition.secret ? text : text.trim(), environment))
    } catch (error) {
      const shown = definition.secret ? 'Invalid value' : `Invalid value [${text}]`
      const why = (error as Error).message
      faulty.add(name)
      problems.push(
        why === 'not allowed'
          ? `${source}: ${shown} for [${name}]: expected ${definition.type.allowed}`
          : `${source}: [${name}] cannot be used: ${why}`,
      )
    }
  }
  const settings = createSettings(role, raw, values, environment)
  problems.push(...contradictions(settings, raw))
  problems.push(...loginProblems(settings, (name) => raw.get(name)?.source ?? 'defaults'))
  if (problems.length > 0) throw new ConfigurationError(problems, { settings, faulty })
  return settings
}

function readFile(file: string, problems: string[]): [string, string][] {
  try {
    return Object.entries(parse(readFileSync(file, 'utf8'))) as [string, string][]
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    problems.push(`${file}: cannot be read (${code ?? message})`)
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

/** An empty text is the default of passwords: there is none to read. */
function readDefault(
  definition: PropertyDefinition<unknown>,
  text: string,
  environment: NodeJS.ProcessEnv,
): unknown {
  return text === '' ? '' : definition.type.read(text, environment)
}

/** The known property that is written most alike; one that stands under a name is shown with the name given. */
function nearestProperty(name: string): string {
  const parts = name.split('.')
  const known = Object.keys(properties).map((one) => {
    const position = one.split('.').indexOf('<name>')
    return one.replace('<name>', () => parts[position] || '<name>')
  })
  return nearNames(name, known, 1)[0] as string
}

/** Properties that are each fine but do not fit each other. */
function contradictions(settings: Settings, raw: ReadonlyMap<string, RawProperty>): string[] {
  const problems: string[] = []
  const at = (name: string) => raw.get(name)?.source ?? 'defaults'
  const plaintext = settings.get('svc.enablePlaintextPort')
  const tls = settings.get('svc.enableTlsPort')
  if (!plaintext && !tls) {
    problems.push(
      `${at('svc.enablePlaintextPort')}: [svc.enablePlaintextPort] and [svc.enableTlsPort] are both false; at least one must be true`,
    )
  }
  if (tls && settings.get('svc.server.https.keyStorePath') === undefined) {
    problems.push(
      `${at('svc.enableTlsPort')}: [svc.enableTlsPort] is true, but [svc.server.https.keyStorePath] is not set; it names the key store with the certificate of this server`,
    )
  }
  if (!tls && settings.get('svc.server.https.requireClientCertificate')) {
    problems.push(
      `${at('svc.server.https.requireClientCertificate')}: [svc.server.https.requireClientCertificate] is true, but [svc.enableTlsPort] is false; everyone would be let in without a certificate`,
    )
  }
  for (const name of ['requireClientCertificate', 'requestClientCertificate'] as const) {
    const property = `svc.server.https.${name}` as const
    if (!tls || !settings.get(property) || settings.get('svc.server.https.trustStorePath')) continue
    problems.push(
      `${at(property)}: [${property}] is true, but [svc.server.https.trustStorePath] is not set; it names the certificates that clients must have theirs from`,
    )
  }
  if (settings.get('svc.simulation.virtualServers').length > 0 && !settings.get('svc.simulation.enabled')) {
    problems.push(
      `${at('svc.simulation.virtualServers')}: [svc.simulation.virtualServers] is set, but [svc.simulation.enabled] is false; virtual servers are for simulations only`,
    )
  }
  const authorizers = settings.get('svc.auth.authorizers')
  const chain = settings.get('svc.auth.authenticatorChain')
  if (chain.length === 0) {
    problems.push(
      `${at('svc.auth.authenticatorChain')}: [svc.auth.authenticatorChain] is empty; nobody could be let in; expected a list of at least one authenticator`,
    )
  }
  const meant = raw.has('svc.auth.authenticatorChain') ? undefined : configuredLogin(settings)
  if (meant !== undefined) {
    problems.push(
      `${at(meant)}: [${meant}] is [basic], but [svc.auth.authenticatorChain] is not set; nobody would have to log in; expected a list of authenticators, or ["allowAll"] where everything is to be open`,
    )
  }
  for (const name of chain) {
    if (name === 'allowAll') continue
    const prefix = `svc.auth.authenticator.${name}`
    if (settings.getNamed('svc.auth.authenticator.<name>.type', name) === undefined) {
      problems.push(
        `${at('svc.auth.authenticatorChain')}: [svc.auth.authenticatorChain] names [${name}], but [${prefix}.type] is not set; expected basic or allowAll`,
      )
    }
    const authorizer = settings.getNamed('svc.auth.authenticator.<name>.authorizerName', name)
    if (authorizer === undefined || !authorizers.includes(authorizer)) {
      problems.push(
        `${at(`${prefix}.authorizerName`)}: [${prefix}.authorizerName] is [${authorizer ?? ''}]; it must name one of [svc.auth.authorizers], which are [${authorizers.join(', ')}]`,
      )
    }
    if (settings.getNamed('svc.auth.authenticator.<name>.enableCacheNotifications', name) === false) {
      problems.push(
        `${at(`${prefix}.enableCacheNotifications`)}: [${prefix}.enableCacheNotifications] is [false], which has no effect here; changes always reach the other servers at once; expected true`,
      )
    }
  }
  for (const name of authorizers) {
    if (name !== 'allowAll' && settings.getNamed('svc.auth.authorizer.<name>.type', name) === undefined) {
      problems.push(
        `${at('svc.auth.authorizers')}: [svc.auth.authorizers] names [${name}], but [svc.auth.authorizer.${name}.type] is not set; expected basic or allowAll`,
      )
    }
  }
  if (settings.get('svc.escalator.type') === 'basic') {
    if (!settings.get('svc.escalator.internalClientPassword')) {
      problems.push(
        `${at('svc.escalator.type')}: [svc.escalator.type] is basic, but [svc.escalator.internalClientPassword] is not set`,
      )
    }
  } else if (asksForLogin(settings)) {
    problems.push(
      `${at('svc.escalator.type')}: [svc.escalator.type] is noop, but [svc.auth.authenticatorChain] asks for logins; the servers could not reach each other; expected basic`,
    )
  }
  return problems
}

/** The first property that makes an authenticator or authorizer one that asks for logins. */
const configuredLogin = (settings: Settings): string | undefined =>
  settings.names.find((property) => {
    const [, kind, name = ''] = /^svc\.auth\.(authenticator|authorizer)\.([^.]+)\.type$/.exec(property) ?? []
    if (kind === 'authenticator')
      return settings.getNamed('svc.auth.authenticator.<name>.type', name) === 'basic'
    return kind === 'authorizer' && settings.getNamed('svc.auth.authorizer.<name>.type', name) === 'basic'
  })
