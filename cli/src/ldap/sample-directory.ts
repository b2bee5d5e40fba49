import { fileURLToPath } from 'node:url'
import { type HomeLayout, logFile, secretFile } from '../home/index.ts'
import type { ProcessSpec } from '../supervisor/index.ts'
import type { DirectoryContent, DirectoryEntry } from './embedded-directory.ts'

const suffix = 'dc=example,dc=org'
const bindDn = `cn=search,${suffix}`

// The groups of the sample and their members. carol has no group, so all her roles are assigned to her directly.
const groups: Readonly<Record<string, readonly string[]>> = {
  administrators: ['alice'],
  analysts: ['alice', 'bob'],
}
const users = ['alice', 'bob', 'carol']

const userDn = (user: string) => `uid=${user},ou=users,${suffix}`
const groupDn = (group: string) => `cn=${group},ou=groups,${suffix}`

/** A user of the sample directory. */
export interface SampleUser {
  readonly user: string
  readonly password: string
}

/** The users of the sample directory and their passwords, which are public. */
export const sampleUsers: readonly SampleUser[] = users.map((user) => ({
  user,
  password: `${user}-password`,
}))

/** The sample directory: alice, bob, and carol, with the passwords alice-password, and so on. */
export function sampleDirectory(bindPassword: string): DirectoryContent {
  const people = sampleUsers.map(({ user, password }): DirectoryEntry => {
    const memberOf = Object.keys(groups)
      .filter((group) => groups[group]?.includes(user))
      .map(groupDn)
    return {
      dn: userDn(user),
      password,
      attributes: {
        objectClass: ['inetOrgPerson'],
        uid: [user],
        cn: [user],
        sn: [user],
        ...(memberOf.length > 0 ? { memberOf } : {}),
      },
    }
  })
  const memberships = Object.entries(groups).map(
    ([group, members]): DirectoryEntry => ({
      dn: groupDn(group),
      attributes: { objectClass: ['groupOfNames'], cn: [group], member: members.map(userDn) },
    }),
  )
  return { suffix, bindDn, bindPassword, entries: [...people, ...memberships] }
}

const name = 'sampleDirectory'

/** The properties that add the users of the sample directory to those of `authenticator`. */
export function directoryProperties(
  home: HomeLayout,
  port: number,
  authenticator: string,
  authorizer: string,
): Readonly<Record<string, string>> {
  const prefix = `svc.auth.authenticator.${name}`
  return {
    'svc.auth.authenticatorChain': JSON.stringify([authenticator, name]),
    [`svc.auth.authenticator.${authenticator}.skipOnFailure`]: 'true',
    [`${prefix}.type`]: 'basic',
    [`${prefix}.authorizerName`]: authorizer,
    [`${prefix}.credentialsValidator.type`]: 'ldap',
    [`${prefix}.credentialsValidator.url`]: `ldap://127.0.0.1:${port}`,
    [`${prefix}.credentialsValidator.bindUser`]: bindDn,
    [`${prefix}.credentialsValidator.bindPassword`]: JSON.stringify({
      type: 'file',
      path: secretFile(home, 'directory-password'),
    }),
    [`${prefix}.credentialsValidator.baseDn`]: `ou=users,${suffix}`,
    [`${prefix}.credentialsValidator.userSearch`]: '(&(uid=%s)(objectClass=inetOrgPerson))',
    [`${prefix}.credentialsValidator.userAttribute`]: 'uid',
    [`svc.auth.authorizer.${authorizer}.roleProvider.type`]: 'ldap',
    [`svc.auth.authorizer.${authorizer}.initialAdminGroupMapping`]: groupDn('administrators'),
  }
}

/** How to run the sample directory of a home. */
export function directoryServer(home: HomeLayout, port: number): ProcessSpec {
  const main = fileURLToPath(new URL('./run-directory.ts', import.meta.url))
  return {
    instance: 'directory',
    program: 'node',
    file: process.execPath,
    args: [main, String(port), secretFile(home, 'directory-password')],
    cwd: home.root,
    logFile: logFile(home, 'directory'),
    stopSignal: 'SIGTERM',
  }
}
