import { readFileSync } from 'node:fs'
import { isSecretName, type Property, type ValueProblem } from './configuration.ts'
import { Secret } from './secret.ts'

/** What values may refer to. */
export interface ValueSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The `-D` options of the server. */
  readonly systemProperties: Readonly<Record<string, string>>
  /** Returns the file on this machine for a path in the configuration. */
  readonly fileOf: (written: string) => string
}

type Resolved = Pick<Property, 'value' | 'secret' | 'problem'>

/** Resolves `${env:…}`, `${sys:…}`, and `${file:…}` references, and password providers, as Druid does. */
export function resolveValue(name: string, written: string, sources: ValueSources): Resolved {
  const referred = resolveReferences(written, sources)
  if (typeof referred !== 'string') return unknown(referred)
  if (!isSecretName(name)) return { value: referred, secret: undefined, problem: undefined }
  const password = providedPassword(referred, sources)
  if (typeof password !== 'string') return unknown(password)
  return { value: undefined, secret: new Secret(password), problem: undefined }
}

const unknown = (problem: ValueProblem): Resolved => ({ value: undefined, secret: undefined, problem })

function resolveReferences(text: string, sources: ValueSources): string | ValueProblem {
  let problem: ValueProblem | undefined
  const resolved = text.replace(
    /\$\{(env|sys|file):([^}]*)\}/g,
    (_reference, kind: string, inner: string) => {
      const [target = '', fallback] = inner.split(':-', 2)
      const found = referredText(kind, target, sources) ?? fallback
      if (found === undefined) problem ??= { kind: 'missing', text: nameOfReference(kind, target) }
      return found ?? ''
    },
  )
  return problem ?? resolved
}

function referredText(kind: string, target: string, sources: ValueSources): string | undefined {
  if (kind === 'env') return sources.environment[target]
  if (kind === 'sys') return sources.systemProperties[target]
  try {
    return readFileSync(sources.fileOf(fileOfReference(target)), 'utf8')
  } catch {
    return undefined
  }
}

/** The target of a file reference starts with the character set: `UTF-8:/run/secrets/password`. */
const fileOfReference = (target: string): string => target.replace(/^[A-Za-z0-9-]+:/, '')

function nameOfReference(kind: string, target: string): string {
  if (kind === 'env') return `the environment variable [${target}]`
  if (kind === 'sys') return `the system property [${target}]`
  return `the file [${fileOfReference(target)}]`
}

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
  if (provider.type !== 'environment')
    return { kind: 'missing', text: `the password provider [${provider.type}]` }
  if (typeof provider.variable !== 'string')
    return { kind: 'malformed', text: 'the password provider [environment] has no field [variable]' }
  return (
    environment[provider.variable] ?? {
      kind: 'missing',
      text: `the environment variable [${provider.variable}]`,
    }
  )
}
