import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { allowedPasswords, isAllowedPassword } from '@svc/domain/access'
import { conflict, invalidInput } from '@svc/domain/failure'
import { ConfigurationError, loadSettings } from '@svc/shared/config'
import {
  ensureSecret,
  type HomeLayout,
  homeArgument,
  readSecret,
  type SecretName,
  secretFile,
  writeSecret,
} from '../home/index.ts'
import { ensureCertificates, ensureRevocations } from '../pki/index.ts'
import type { ClusterPlan } from './plan-cluster.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/** The passwords of a home that its processes need. */
export interface Passwords {
  readonly postgres: string
  readonly redis: string
  /** Undefined in the plain profile, which has no users. */
  readonly admin: string | undefined
}

/** Throws a Failure if the given admin password cannot be typed and stored in a file. */
export function checkAdminPassword(given: string | undefined): void {
  if (given === undefined) return
  if (!/^[^\p{Cc}]+$/u.test(given) || given.trim() !== given) {
    throw invalidInput(
      'Invalid value for [--admin-password]: expected non-empty text without control characters or leading or trailing spaces',
    )
  }
}

/**
 * Throws a Failure if a used home has lost a password that its metadata store knows: a new one would not work. A home
 * that has only run in the plain profile has no passwords of users.
 */
function checkPasswordsExist(home: HomeLayout, isSecure: boolean, adminPassword: string | undefined): void {
  if (!existsSync(home.postgres)) return
  const isMissing = (name: SecretName): boolean => !readSecret(home, name)
  const damaged = (name: SecretName, more = ''): Error =>
    conflict(
      `Home [${home.root}] is damaged: its password file [${secretFile(home, name)}] is missing or empty, and svc cannot recreate the password. Restore the file${more}, or start over with ./svc reset${homeArgument(home.root)}.`,
    )
  if (isMissing('postgres-password')) throw damaged('postgres-password')
  if (!isSecure || isMissing('admin-password') === isMissing('internal-client-password')) return
  if (isMissing('internal-client-password')) throw damaged('internal-client-password')
  if (adminPassword === undefined)
    throw damaged('admin-password', ', pass the password once with --admin-password')
}

/**
 * Creates missing passwords. A given admin password has an effect only at the first start, when it is stored in the
 * metadata store. Throws a Failure if a different one is given later.
 */
export function ensurePasswords(
  home: HomeLayout,
  plan: ClusterPlan,
  adminPassword: string | undefined,
): Passwords {
  const isSecure = plan.options.profile === 'secure'
  checkPasswordsExist(home, isSecure, adminPassword)
  if (isSecure) ensureSecret(home, 'internal-client-password')
  if (plan.hasTls) ensureSecret(home, 'key-store-password')
  if (plan.options.ldap) ensureSecret(home, 'directory-password')
  return {
    postgres: ensureSecret(home, 'postgres-password'),
    redis: ensureSecret(home, 'redis-password'),
    admin: isSecure ? ensureAdminPassword(home, plan, adminPassword) : undefined,
  }
}

function ensureAdminPassword(home: HomeLayout, plan: ClusterPlan, given: string | undefined): string {
  if (given === undefined) return ensureSecret(home, 'admin-password')
  const known = readSecret(home, 'admin-password')
  if (known === given) return known
  if (!existsSync(home.postgres)) checkPasswordLength(given, plan)
  else if (known !== undefined) {
    throw conflict(
      `The admin of [${home.root}] already has a password (./svc password${homeArgument(home.root)} shows it). Omit --admin-password, or start over with ./svc reset${homeArgument(home.root)}.`,
    )
  }
  return writeSecret(home, 'admin-password', given)
}

/** Throws a Failure if the cluster would not accept a new password. */
function checkPasswordLength(given: string, { services, common }: ClusterPlan): void {
  const name = 'svc.auth.credentials.minLength'
  const coordinator = services.find(({ role }) => role === 'coordinator')
  const planned = coordinator?.properties[name] ?? common[name]
  const minLength = Number(planned ?? loadSettings('coordinator', [], {}).get(name))
  if (isAllowedPassword(given, minLength)) return
  throw invalidInput(
    `Invalid value for [--admin-password] ([${given.length}] characters): expected ${allowedPasswords(minLength)}.`,
  )
}

/** Throws a Failure if a service would reject the configuration that was written for it. */
export function checkConfiguration(home: HomeLayout, { services }: ClusterPlan): void {
  for (const { role, instance } of services) {
    try {
      loadSettings(role, [commonPropertiesFile(home), runtimePropertiesFile(home, instance)], process.env)
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      throw invalidInput(`Failed to start ${instance}: ${error.message}`)
    }
  }
}

/** Issues missing and expiring certificates, and creates the revocation list; returns the instances with new ones. */
export async function ensurePlannedCertificates(
  home: HomeLayout,
  plan: ClusterPlan,
  moreHosts: readonly string[] = [],
): Promise<string[]> {
  if (!plan.hasTls) return []
  const instances = plan.services.map(({ instance }) => instance)
  const issued = await certificatesFor(home, instances, [...plan.hosts, ...moreHosts])
  await ensureRevocations({ folder: home.pki, now: Date.now() })
  return issued
}

/** Issues missing and expiring certificates of instances on the given hosts; returns the instances with new ones. */
export async function certificatesFor(
  home: HomeLayout,
  instances: readonly string[],
  hosts: readonly string[],
): Promise<string[]> {
  const all = [...new Set(['localhost', '127.0.0.1', '::1', hostname(), ...hosts])]
  return ensureCertificates({
    folder: home.pki,
    instances,
    hosts: () => all,
    keyStorePassword: ensureSecret(home, 'key-store-password'),
    now: Date.now(),
  })
}
