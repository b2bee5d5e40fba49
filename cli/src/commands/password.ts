import { conflict, invalidInput, notFound } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { HomeLayout } from '../home/index.ts'
import { existingHome, newPasswordOption, readNewPassword, withHome } from '../options/index.ts'

interface PasswordOptions {
  readonly home?: string
  readonly set?: boolean
  readonly newPasswordFile?: string
}

/** Adds `./svc password`. */
export function addPassword(program: Command): void {
  withHome(program.command('password').description('Print the admin password stored in the home'))
    .option('--set', 'Store the current admin password, if it was changed without ./svc users password')
    .addOption(newPasswordOption())
    .addHelpText(
      'after',
      `
./svc users password admin changes the password in the cluster and in the home.

Examples:
  ./svc password
  ./svc password --set --new-password-file changed-password`,
    )
    .action(async ({ home: folder, set, newPasswordFile }: PasswordOptions) => {
      const home = existingHome(folder)
      if (!set && newPasswordFile !== undefined)
        throw invalidInput('Option --new-password-file requires --set')
      const stored = await storedPassword(home)
      if (!set) {
        process.stdout.write(`${stored}\n`)
        return
      }
      const password = await readNewPassword(newPasswordFile)
      await checkPassword(home, password)
      await storeAdminPassword(folder, password)
      process.stdout.write(`Stored the admin password in [${home.root}].\n`)
    })
}

/** The stored password of the admin. Throws a Failure if the cluster of the home has none. */
async function storedPassword(home: HomeLayout): Promise<string> {
  const { homeArgument, readSecret } = await import('../home/index.ts')
  const password = readSecret(home, 'admin-password')
  if (password === undefined) {
    throw notFound(
      `The cluster in [${home.root}] has no password, because it has never been started with logins. Start it with ./svc up${homeArgument(home.root)}, without --profile plain.`,
    )
  }
  const { usesStoredAdmin } = await import('../cluster/index.ts')
  if (!usesStoredAdmin(home)) {
    throw conflict(
      `The cluster in [${home.root}] checks all logins against an LDAP directory, so it has no stored password for [admin]`,
    )
  }
  return password
}

/** Stores the password with which commands log in as the admin of a home, if the home has one. */
export async function storeAdminPassword(folder: string | undefined, password: string): Promise<void> {
  const { readSecret, writeSecret } = await import('../home/index.ts')
  const home = existingHome(folder)
  if (readSecret(home, 'admin-password') !== undefined) writeSecret(home, 'admin-password', password)
}

/** Throws unauthorized if the cluster of a home is running and does not accept a password of the admin. */
async function checkPassword(home: HomeLayout, password: string): Promise<void> {
  const [{ accessToCluster, clientOf }, { readRunFile }, { isRunning }] = await Promise.all([
    import('../client/index.ts'),
    import('../home/index.ts'),
    import('../processes/index.ts'),
  ])
  const run = readRunFile(home)
  if (!run || !isRunning(run.supervisor)) return
  const access = accessToCluster(home, { credentials: `admin:${password}` })
  const rejectedLogin = 'The cluster rejected this admin password, so it was not stored.'
  await clientOf({ ...access, rejectedLogin }).send('GET', '/status')
}
