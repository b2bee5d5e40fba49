import { similarName } from '@svc/domain/validation'
import { definitionOf } from '@svc/shared/config'
import { hasOuterSpaces, isListText, type Server } from '../configuration.ts'
import type { Check } from '../findings.ts'

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
    ['basic', 'allowAll', 'anonymous', 'trustedDomain', 'kerberos', 'pac4j'],
  ],
  [/^druid\.auth\.authenticator\.[^.]+\.credentialsValidator\.type$/, ['metadata', 'ldap']],
  [/^druid\.auth\.authorizer\.[^.]+\.type$/, ['basic', 'allowAll', 'pac4j', 'ranger', 'opa']],
  [/^druid\.auth\.authorizer\.[^.]+\.roleProvider\.type$/, ['metadata', 'ldap']],
  [/^druid\.escalator\.type$/, ['noop', 'basic', 'kerberos', 'pac4j']],
]

/** Returns what Druid expects instead of a value; undefined if it accepts the value. */
function expectedInstead(name: string, value: string): string | undefined {
  const { type } = definitionOf(name.replace(/^druid\./, 'svc.'))?.definition ?? {}
  const [, isAccepted] = accepted.find(([described]) => described.test(type?.allowed ?? '')) ?? []
  if (isAccepted?.(value.trim()) === false) return type?.allowed
  const [, names] = typeNames.find(([end]) => end.test(name)) ?? []
  const near = names?.includes(value) ? undefined : similarName(value, names ?? [])
  return near === undefined ? undefined : `[${near}]`
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
    find: (server) =>
      valuesOf(server).flatMap((property) => {
        const { name, value } = property
        const expected = expectedInstead(name, value)
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
]
