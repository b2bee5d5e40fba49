import { nonFileAt, readRegularFile } from '../regular-files/index.ts'
import type { Property, ValueProblem } from './configuration.ts'
import { Secret } from './secret.ts'
import { isSecretName, isSecretVariable } from './secret-names.ts'

/** What values may refer to. */
export interface ValueSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The `-D` options of the server. */
  readonly systemProperties: Readonly<Record<string, string>>
  /** Returns the file on this machine for a path in the configuration. */
  readonly fileOf: (written: string) => string
}

type Resolved = Pick<Property, 'value' | 'secret' | 'referred' | 'problem'>

/** Resolves `${env:…}`, `${sys:…}`, and `${file:…}` references, and password providers, as Druid does. */
export function resolveValue(name: string, written: string, sources: ValueSources): Resolved {
  const referred: Secret[] = []
  const text = resolveReferences(written, sources, referred)
  const unknown = (problem: ValueProblem): Resolved => ({
    value: undefined,
    secret: undefined,
    referred,
    problem,
  })
  if (typeof text !== 'string') return unknown(text)
  if (!isSecretName(name)) return { value: text, secret: undefined, referred, problem: undefined }
  const password = providedPassword(text, sources)
  if (typeof password !== 'string') return unknown(password)
  return { value: undefined, secret: new Secret(password), referred, problem: undefined }
}

/** Adds texts that may be passwords to `referred`. */
function resolveReferences(text: string, sources: ValueSources, referred: Secret[]): string | ValueProblem {
  let problem: ValueProblem | undefined
  const resolved = text.replace(
    /\$\{(env|sys|file):([^}]*)\}/g,
    (_reference, kind: string, inner: string) => {
      const [target = '', fallback] = inner.split(':-', 2)
      const found = referredText(kind, target, sources) ?? fallback
      if (found === undefined) problem ??= problemOf(kind, target, sources)
      else if (kind === 'file' || isSecretVariable(target)) referred.push(new Secret(found))
      return found ?? ''
    },
  )
  return problem ?? resolved
}

function referredText(kind: string, target: string, sources: ValueSources): string | undefined {
  if (kind === 'env') return sources.environment[target]
  if (kind === 'sys') return sources.systemProperties[target]
  try {
    return readRegularFile(sources.fileOf(fileOfReference(target))).toString('utf8')
  } catch {
    return undefined
  }
}

/** The target of a file reference starts with the character set: `UTF-8:/run/secrets/password`. */
const fileOfReference = (target: string): string => target.replace(/^[A-Za-z0-9-]+:/, '')

/** Without a text that cannot be a name: it may be the password itself. */
const variableText = (name: string): string =>
  /^[A-Za-z_]\w*$/.test(name)
    ? `the environment variable [${name}]`
    : 'an environment variable with an invalid name'

function problemOf(kind: string, target: string, { fileOf }: ValueSources): ValueProblem {
  const file = fileOfReference(target)
  const is = kind === 'file' ? nonFileAt(fileOf(file)) : undefined
  return is === undefined
    ? { kind: 'missing', text: nameOfReference(kind, target) }
    : { kind: 'malformed', text: `[${file}] is ${is}, not a file` }
}

function nameOfReference(kind: string, target: string): string {
  if (kind === 'env') return variableText(target)
  if (kind === 'sys') return `the system property [${target}]`
  return `the file [${fileOfReference(target)}]`
}

const providerText = (type: unknown): string =>
  typeof type === 'string' && /^[A-Za-z][A-Za-z.]*$/.test(type)
    ? `the password provider [${type}]`
    : 'a password provider with an invalid type'

function providedPassword(text: string, { environment }: ValueSources): string | ValueProblem {
  if (!text.trim().startsWith('{')) return text
  let provider: { type?: unknown; password?: unknown; variable?: unknown }
  try {
    provider = JSON.parse(text)
  } catch {
    return { kind: 'malformed', text: 'it starts with { but is not valid JSON' }
  }
  if (provider.type === 'default' && typeof provider.password === 'string') return provider.password
  if (provider.type === 'default')
    return { kind: 'malformed', text: 'the password provider [default] has no field [password]' }
  if (provider.type !== 'environment') return { kind: 'unknownProvider', text: providerText(provider.type) }
  if (typeof provider.variable !== 'string')
    return { kind: 'malformed', text: 'the password provider [environment] has no field [variable]' }
  return (
    environment[provider.variable] ?? {
      kind: 'missing',
      text: variableText(provider.variable),
    }
  )
}
