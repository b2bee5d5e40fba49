import type { Property, Server } from '../configuration.ts'
import { loadedExtensions, mayLoadOtherExtensions } from '../druid-extensions.ts'
import type { Check } from '../findings.ts'
import { isSecretName } from '../secret-names.ts'

/** Passwords in Druid's documentation and in examples that people copy. */
export const publicPasswords: ReadonlySet<string> = new Set([
  'password1',
  'password2',
  'password',
  'admin',
  'druid',
  'diurd',
  'druid_system',
  'changeme',
  'secret',
  'internaluserpassword',
  'adminpassword',
  'Welcome123',
])

const isLogin = (name: string): boolean =>
  /^druid\.(auth\.authenticator\.[^.]+\.initial(Admin|InternalClient)Password|escalator\.internalClientPassword)$/.test(
    name,
  )

const isSecurity = (name: string): boolean =>
  /^druid\.(auth|escalator|client\.https|server\.https)\./.test(name)

const propertiesOf = (server: Server, isWanted: (name: string) => boolean): Property[] =>
  [...server.properties.values()].filter(({ name }) => isWanted(name))

const unknownProviders = (server: Server) =>
  propertiesOf(server, isSecurity).flatMap((property) =>
    property.problem?.kind === 'unknownProvider' ? [{ property, text: property.problem.text }] : [],
  )

/** Returns whether an extension of a server may have password providers. */
const mayHaveOtherProviders = (server: Server): boolean =>
  mayLoadOtherExtensions(server) || (loadedExtensions(server)?.includes('druid-aws-rds-extensions') ?? true)

/** Checks of passwords and of references to values elsewhere. No text contains a password. */
export const passwordChecks: readonly Check[] = [
  {
    code: 'password-public',
    severity: 'error',
    find: (server) =>
      propertiesOf(server, isLogin)
        .filter(({ secret }) => secret?.isOneOf(publicPasswords))
        .map((property) => ({
          at: property,
          problem: `[${property.name}] is a password from Druid's documentation or common examples`,
          effect: 'Anyone who tries well-known passwords gets all permissions.',
          fix: "Choose a random password. If the cluster has already started, also change the user's password through the API: an initial password is used only once.",
        })),
  },
  {
    code: 'password-empty',
    severity: 'error',
    find: (server) =>
      propertiesOf(server, isLogin)
        .filter(({ secret }) => secret?.isEmpty())
        .map((property) => ({
          at: property,
          problem: `[${property.name}] is empty`,
          effect: 'Nobody can log in with an empty password.',
          fix: `Set [${property.name}].`,
        })),
  },
  {
    code: 'password-blank',
    severity: 'warning',
    find: (server) =>
      propertiesOf(server, (name) => isSecurity(name) && isSecretName(name))
        .filter(({ secret }) => secret?.hasOuterBlank())
        .map((property) => ({
          at: property,
          problem: `The password in [${property.name}] starts or ends with a space or line break`,
          effect: 'The space or line break is part of the password, so logins without it fail.',
          fix: 'Remove the space or line break, which is usually at the end of the line or of the password file.',
        })),
  },
  {
    code: 'value-malformed',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      propertiesOf(server, isSecurity).flatMap((property) =>
        property.problem?.kind === 'malformed'
          ? [
              {
                at: property,
                problem: `The value of [${property.name}] is invalid: ${property.problem.text}`,
                effect: 'The servers will not start.',
                fix: 'Use the password itself, or {"type":"environment","variable":"NAME"}.',
              },
            ]
          : [],
      ),
  },
  {
    code: 'password-provider-unknown',
    severity: 'error',
    prevents: 'start',
    locksOut: 'everyone',
    find: (server) =>
      mayHaveOtherProviders(server)
        ? []
        : unknownProviders(server).map(({ property, text }) => ({
            at: property,
            problem: `[${property.name}] uses ${text}, but neither Druid nor an extension in [druid.extensions.loadList] has it`,
            effect: 'The servers will not start.',
            fix: 'Use the password itself, or {"type":"environment","variable":"NAME"}.',
          })),
  },
  {
    code: 'value-unknown',
    severity: 'warning',
    find: (server) => [
      ...propertiesOf(server, isSecurity).flatMap((property) =>
        property.problem?.kind === 'missing'
          ? [
              {
                at: property,
                problem: `[${property.name}] refers to ${property.problem.text}, which is not available on this machine`,
                effect:
                  'svc cannot check anything that depends on the value. A server without the value does not start.',
                fix: 'Run the command where the value is available, or use --variables or --map.',
              },
            ]
          : [],
      ),
      ...(mayHaveOtherProviders(server)
        ? unknownProviders(server).map(({ property, text }) => ({
            at: property,
            problem: `[${property.name}] uses ${text}, which only an extension can read`,
            effect:
              'svc cannot check anything that depends on the value. Without an extension that has this provider, the server does not start.',
            fix: 'To check the rest, use {"type":"environment","variable":"NAME"} in a copy of the folder.',
          }))
        : []),
    ],
  },
]
