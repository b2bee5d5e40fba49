import { similarName } from '@svc/domain/validation'
import { definitionOf } from '@svc/shared/config'
import { hasOuterSpaces, isListText, listOf, type Server } from '../configuration.ts'
import { mayLoadOtherExtensions } from '../druid-extensions.ts'
import type { Check } from '../findings.ts'
import { authorizersProperty, chainOf, chainProperty, directoryPropertiesOf } from '../logins.ts'

/** What Druid accepts, for types that Druid and svc parse in the same way. Each type is found by svc's description of it. */
const accepted: readonly (readonly [described: RegExp, isAccepted: (text: string) => boolean])[] = [
  // Jackson reads a number as true, unless it is 0.
  [/^true or false$/, (text) => /^(true|True|TRUE|false|False|FALSE|-?\d+|)$/.test(text)],
  [/^an integer /, (text) => /^(-?\d+|)$/.test(text)],
  [/^a JSON list of strings /, isListText],
]

/** Types of Druid and its extensions, by the end of the property. */
const typeNames: readonly (readonly [end: RegExp, names: readonly string[]])[] = [
  [
    /^druid\.auth\.authenticator\.[^.]+\.type$/,
    ['basic', 'allowAll', 'anonymous', 'trustedDomain', 'kerberos', 'pac4j', 'jwt'],
  ],
  [/^druid\.auth\.authorizer\.[^.]+\.type$/, ['basic', 'allowAll', 'pac4j', 'ranger', 'opa']],
  [/^druid\.escalator\.type$/, ['noop', 'basic', 'kerberos', 'pac4j']],
]

/** Types that have a default, which Druid also uses instead of types that it does not know. */
const typeWithDefault =
  /^(druid\.auth\.authenticator\.[^.]+)\.credentialsValidator\.type$|^druid\.auth\.authorizer\.[^.]+\.roleProvider\.type$/

/** Returns whether Druid does not know a type. That of a directory is a different finding. */
function isIgnoredType(server: Server, name: string, value: string): boolean {
  const [isType, prefix] = typeWithDefault.exec(name) ?? []
  if (isType === undefined || ['metadata', 'ldap'].includes(value)) return false
  return prefix === undefined || directoryPropertiesOf(server, { prefix }).length === 0
}

const iterations = /^(druid\.auth\.authenticator\.([^.]+))\.(credentialsValidator\.)?credentialIterations$/

/** Returns whether a basic authenticator of the chain has a number of iterations that Jackson does not read as an integer. */
function isInvalidCount(server: Server, property: string, value: string): boolean {
  const [, , name, validator] = iterations.exec(property) ?? []
  const owner = chainOf(server).find((one) => one.name === name)
  if (owner?.users === undefined || (validator !== undefined && owner.users !== 'directory')) return false
  return !/^([+-]?\d+|null|)$/.test(value.trim())
}

/** Returns what Druid expects instead of a value; undefined if it accepts the value. */
function expectedInstead(server: Server, name: string, value: string): string | undefined {
  const { type } = definitionOf(name.replace(/^druid\./, 'svc.'))?.definition ?? {}
  const [, isAccepted] = accepted.find(([described]) => described.test(type?.allowed ?? '')) ?? []
  if (isAccepted?.(value.trim()) === false) return type?.allowed
  if (isInvalidCount(server, name, value)) return 'an integer'
  const [, names] = typeNames.find(([end]) => end.test(name)) ?? []
  if (names === undefined || names.includes(value)) return undefined
  const near = similarName(value, names)
  if (near !== undefined) return `[${near}]`
  return isUsedType(server, name) && !mayLoadOtherExtensions(server)
    ? `one of [${names.join(', ')}]`
    : undefined
}

/** Druid does not read the type of an authenticator or authorizer that is not listed. */
function isUsedType(server: Server, property: string): boolean {
  const [, kind, name = ''] = /^druid\.auth\.(authenticator|authorizer)\.([^.]+)\.type$/.exec(property) ?? []
  if (kind === undefined) return true
  return (
    listOf(server, kind === 'authenticator' ? chainProperty : authorizersProperty)?.includes(name) ?? false
  )
}

const valuesOf = ({ properties }: Server) =>
  [...properties.values()].flatMap((property) =>
    property.value === undefined ? [] : [{ ...property, value: property.value }],
  )

/** Checks of the form of values. */
export const valueChecks: readonly Check[] = [
  {
    code: 'value-invalid',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      valuesOf(server).flatMap((property) => {
        const { name, value } = property
        const expected = expectedInstead(server, name, value)
        if (expected === undefined) return []
        return [
          {
            at: property,
            problem: `Invalid value [${value}] for [${name}]: expected ${expected}`,
            effect: 'The servers will not start.',
            fix: 'Correct the value.',
          },
        ]
      }),
  },
  {
    code: 'type-ignored',
    severity: 'warning',
    find: (server) =>
      valuesOf(server)
        .filter(({ name, value }) => isIgnoredType(server, name, value))
        .map((property) => ({
          at: property,
          problem: `Invalid value [${property.value}] for [${property.name}]: expected [metadata] or [ldap]`,
          effect: 'Druid ignores the value and uses [metadata].',
          fix: 'Correct the value.',
        })),
  },
  {
    code: 'value-spaces',
    severity: 'error',
    find: (server) =>
      valuesOf(server)
        .filter(hasOuterSpaces)
        .map((property) => ({
          at: property,
          problem: `The value [${property.value}] of [${property.name}] starts or ends with a space`,
          effect:
            'Druid keeps the space as part of the value, so the value does not match the same text without the space.',
          fix: 'Remove the space, which is usually at the end of the line.',
        })),
  },
  {
    code: 'byte-order-mark',
    severity: 'error',
    find: ({ properties }) =>
      [...properties.values()]
        .filter(({ name }) => /^\uFEFFdruid\./.test(name))
        .map((property) => ({
          at: property,
          problem: 'The file starts with a byte order mark, an invisible character that some editors write',
          effect: `Druid reads this character as part of the name [${property.name.slice(1)}], so it ignores the property.`,
          fix: 'Save the file as UTF-8 without a byte order mark.',
        })),
  },
  {
    code: 'file-not-utf8',
    severity: 'error',
    find: ({ properties }) => {
      const all = [...properties.values()]
      const utf16 = Map.groupBy(
        all.filter(({ name }) => name.includes('\0')),
        ({ file }) => file,
      )
      return [
        ...[...utf16.keys()].map((file) => ({
          at: { file, line: undefined },
          problem: 'The file is encoded in UTF-16',
          effect: 'Druid reads files as UTF-8, so it finds none of the properties in this file.',
          fix: 'Save the file as UTF-8 without a byte order mark.',
        })),
        ...all
          .filter(({ name }) => /^druid\.(auth|escalator|host|(client|server)\.https)\b/.test(name))
          .filter(({ value, secret }) => value?.includes('\uFFFD') || secret?.hasInvalidBytes())
          .map((property) => ({
            at: property,
            problem: `The value of [${property.name}] contains bytes that are not valid UTF-8`,
            effect:
              'Druid replaces these bytes with other characters, so the value does not match the intended text.',
            fix: 'Save the file as UTF-8.',
          })),
      ]
    },
  },
  {
    code: 'include-ignored',
    severity: 'warning',
    find: ({ properties }) =>
      [properties.get('include') ?? []].flat().map((property) => ({
        at: property,
        problem: '[include] is not a property of Druid',
        effect: 'Druid does not read the file that it names.',
        fix: 'Copy the properties of that file into this one, and remove the line.',
      })),
  },
]
