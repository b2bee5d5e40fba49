import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { allowedPasswords, isAllowedPassword } from '@svc/domain/access'
import { conflict, invalidInput } from '@svc/domain/failure'
import { ConfigurationError, loadSettings } from '@svc/shared/config'
import {
  ensureSecret,
  type HomeLayout,
  readSecret,
  type SecretName,
  secretFile,
  writeSecret,
} from '../home/index.ts'
import { ensureCertificates, ensureRevocations } from '../pki/index.ts'
import type { ClusterPlan } from './plan-cluster.ts'
import { commonPropertiesFile, runtimePropertiesFile } from './write-configuration.ts'

/** The passwords of a home that its processes are started with. */
export interface Passwords {
  readonly postgres: string
  readonly redis: string
  /** Undefined in the plain profile, which knows no users. */
  readonly admin: string | undefined
}

/** Throws a Failure when a password for the admin, if given, is none that can be typed and kept in a file. */
export function checkAdminPassword(given: string | undefined): void {
  if (given === undefined) return
  if (!/^[^\p{Cc}]+$/u.test(given) || given.trim() !== given) {
    throw invalidInput(
      'Option --admin-password has a value that is not allowed: it must not be empty, hold control characters, or begin or end with blanks',
    )
  }
}

/**
 * Throws a Failure when a home that was used before has lost a password which its metadata store keeps: another one
 * would not hold. One that was plain so far has neither of those of users.
 */
function checkPasswordsAreThere(
  home: HomeLayout,
  isSecure: boolean,
  adminPassword: string | undefined,
): void {
  if (!existsSync(home.postgres)) return
  const isMissing = (name: SecretName): boolean => !readSecret(home, name)
  const broken = (name: SecretName, more = ''): Error =>
    conflict(
      `Home [${home.root}] is broken: its file [${secretFile(home, name)}] is missing or empty, and another password than the one in it would not hold: put the file back${more}, or begin anew with ./svc reset`,
    )
  if (isMissing('postgres-password')) throw broken('postgres-password')
  if (!isSecure || isMissing('admin-password') === isMissing('internal-client-password')) return
  if (isMissing('internal-client-password')) throw broken('internal-client-password')
  if (adminPassword === undefined)
    throw broken('admin-password', ', or say once what it was with --admin-password')
}

/**
 * Makes the passwords that are missing. A given admin's password counts at the first start only, since from then on
 * the metadata store has it; throws a Failure when another one is given later.
 */
export function ensurePasswords(
  home: HomeLayout,
  plan: ClusterPlan,
  adminPassword: string | undefined,
): Passwords {
  const isSecure = plan.options.profile === 'secure'
  checkPasswordsAreThere(home, isSecure, adminPassword)
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
      `Home [${home.root}] has its admin's password already (./svc password shows it): leave --admin-password out, or begin anew with ./svc reset`,
    )
  }
  return writeSecret(home, 'admin-password', given)
}

/** Refuses a new password that the cluster would not let its users have. */
function checkPasswordLength(given: string, { services, common }: ClusterPlan): void {
  const name = 'svc.auth.credentials.minLength'
  const coordinator = services.find(({ role }) => role === 'coordinator')
  const planned = coordinator?.properties[name] ?? common[name]
  const shortest = Number(planned ?? loadSettings('coordinator', [], {}).get(name))
  if (isAllowedPassword(given, shortest)) return
  throw invalidInput(
    `Invalid value for [--admin-password] with [${given.length}] characters: expected ${allowedPasswords(shortest)}.`,
  )
}

/** Throws a Failure where the configuration that was written for a service is one that it refuses. */
export function checkConfiguration(home: HomeLayout, { services }: ClusterPlan): void {
  for (const { role, instance } of services) {
    try {
      loadSettings(role, [commonPropertiesFile(home), runtimePropertiesFile(home, instance)], process.env)
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      throw invalidInput(`${instance} does not start: ${error.message}`)
    }
  }
}

/** Makes the certificates that are missing or run out, and their list of revoked ones; returns whose are new. */
export async function ensurePlannedCertificates(home: HomeLayout, plan: ClusterPlan): Promise<string[]> {
  if (!plan.hasTls) return []
  const instances = plan.services.map(({ instance }) => instance)
  const issued = await certificatesFor(home, instances, plan.hosts)
  await ensureRevocations({ folder: home.pki, now: Date.now() })
  return issued
}

/** Makes those certificates of instances, reached at some hosts, that are missing or run out; returns whose are new. */
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
