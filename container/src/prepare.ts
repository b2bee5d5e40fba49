import { readdirSync, readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import path from 'node:path'
import { ensureSecret, type SecretName, secretNames, writeAtomically } from '@svc/cli/home'
import { ensureCertificates } from '@svc/cli/pki'
import { knownMigrations } from '@svc/shared/postgres'
import { containerHome as home } from './home.ts'
import {
  certificatesText,
  checkCanRun,
  type Installation,
  installationFormat,
  plannedHosts,
  readOptions,
} from './installation.ts'

const installationFile = path.join(home.secrets, 'installation.json')
/** A volume that no server mounts: with the authority's key, anyone could impersonate any server. */
const authorityFolder = path.join(home.root, 'authority')
/** The volumes with the secrets for each reader. Only this container mounts the volume with all secrets. */
const readersFolder = path.join(home.root, 'readers')
const secretsOfServers: readonly SecretName[] = [
  'internal-client-password',
  'key-store-password',
  'postgres-password',
  'redis-password',
]

/**
 * Creates what is missing before the containers start: passwords, and a certificate for the host name of each replica.
 * Throws a Failure with one line if the cluster cannot run here.
 */
export async function prepare(project: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const options = readOptions(project, environment)
  const migrations = knownMigrations()
  const installation = readInstallation()
  checkCanRun(options, { memoryBytes: totalmem(), installation, hasData: hasData(home.postgres), migrations })

  for (const name of secretNames) ensureSecret(home, name)
  distributeSecrets()
  const hosts = plannedHosts(options)
  const issued = await ensureCertificates({
    folder: home.pki,
    authorityFolder,
    instances: [...hosts.keys()],
    hosts: (instance) => hosts.get(instance)!,
    keyStorePassword: ensureSecret(home, 'key-store-password'),
    now: Date.now(),
  })
  // Written last, so that the next start completes an interrupted preparation.
  const now: Installation = {
    format: installationFormat,
    postgres: options.postgres,
    schema: migrations.at(-1)!,
  }
  writeAtomically(installationFile, `${JSON.stringify(now)}\n`, 0o644)
  process.stdout.write(
    `Prepared the cluster: ${certificatesText(issued.length, hosts.size)}. To show the initial admin password, run: docker compose run --rm password\n`,
  )
}

/** Gives each reader the secrets that it needs, and no others. */
function distributeSecrets(): void {
  const give = (reader: string, name: string, content: string, mode = 0o600) =>
    writeAtomically(path.join(readersFolder, reader, name), content, mode)
  for (const name of secretsOfServers) give('servers', name, ensureSecret(home, name))
  give('admin', 'admin-password', ensureSecret(home, 'admin-password'))
  // The Postgres image has a different user.
  give('postgres', 'postgres-password', ensureSecret(home, 'postgres-password'), 0o644)
  // Redis can read a password from a file only in this form.
  give('redis', 'redis.conf', `requirepass ${ensureSecret(home, 'redis-password')}\n`)
}

function readInstallation(): Installation | undefined {
  try {
    return JSON.parse(readFileSync(installationFile, 'utf8')) as Installation
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Whether a folder contains files. Other users cannot access that of Postgres once it has data. */
function hasData(folder: string): boolean {
  try {
    return readdirSync(folder).length > 0
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return true
    throw error
  }
}
