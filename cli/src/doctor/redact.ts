import { parseDistinguishedName } from '@svc/domain/access'
import { publicPasswords } from './checks/passwords.ts'
import type { Configuration, Property, Server } from './configuration.ts'
import { isSecretName } from './secret-names.ts'

/** Shorter texts occur in messages by chance. */
const minLength = 4

// A password may contain a slash, although a URL with it is not valid.
const passwordInUrl = /:\/\/[^/\s:@]*:(\S+)@/g

/** Parameters and JSON fields: their names and values. */
const namedParts = [/(?:^|[?&;,\s])([\w.-]+)=([^&;,\s]+)/g, /"([^"\\]+)"\s*:\s*"((?:[^"\\]|\\.)+)"/g]

/** Returns the parts of a value that are passwords. */
const embeddedSecrets = (value: string): string[] => [
  ...[...value.matchAll(passwordInUrl)].map(([, password]) => password!),
  ...namedParts
    .flatMap((pattern) => [...value.matchAll(pattern)])
    .flatMap(([, name, part]) => (isSecretName(name!) ? [part!] : [])),
]

/** Properties whose values people swap with those of their passwords. */
const swappable: readonly (readonly [password: RegExp, sibling: string])[] = [
  [/StorePassword$/, 'StorePath'],
  [/bindPassword$/, 'bindUser'],
  [/internalClientPassword$/, 'internalClientUsername'],
]

const looksLikePath = (text: string): boolean => /\/|\.(jks|p12|pfx|pkcs12)$/i.test(text)
const looksLikeName = (text: string): boolean =>
  looksLikePath(text) || parseDistinguishedName(text) !== undefined

/** Returns a function that replaces every password of configurations in a text, wherever it is. */
export function redactionOf(...configurations: readonly Configuration[]): (text: string) => string {
  const servers = configurations.flatMap((configuration) => configuration.servers)
  const names = servers.flatMap(({ name, properties }) => [name, ...properties.keys()]).join('\n')
  const found = new Set(
    servers.flatMap((server) => [...server.properties.values()].flatMap((one) => secretsIn(server, one))),
  )
  const secrets = [...found]
    .flatMap((text) => [text, text.trim()])
    // Replacing a part of a property name would reveal that it is a password.
    .filter((text) => text.length >= minLength && !publicPasswords.has(text) && !names.includes(text))
    .toSorted((a, b) => b.length - a.length)
  return (text) => secrets.reduce(withoutSecret, text)
}

const hidden = 'hidden'

/** Messages contain ordinary words, so a password that is one is replaced only in brackets, where values are. */
const withoutSecret = (text: string, secret: string): string =>
  /^[A-Za-z_]+$/.test(secret)
    ? text.replace(/\[[^\]]*\]/g, (value) => value.replaceAll(secret, hidden))
    : text.replaceAll(secret, hidden)

function secretsIn(server: Server, { name, value, secret, referred }: Property): string[] {
  const own = secret?.reveal()
  return [
    ...(own === undefined ? [] : [own]),
    ...referred.map((one) => one.reveal()),
    ...embeddedSecrets(value ?? ''),
    ...swappable.flatMap(([password, sibling]) => {
      const other = server.properties.get(name.replace(password, sibling))?.value
      const isSwapped = password.test(name) && own !== undefined && other !== undefined
      return isSwapped && looksLikeName(own) && !looksLikeName(other) ? [other] : []
    }),
  ]
}
