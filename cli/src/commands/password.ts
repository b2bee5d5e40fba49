import { conflict, notFound } from '@svc/domain/failure'
import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'

/** Adds `./svc password`. */
export function addPassword(program: Command): void {
  const command = program.command('password').description('Print the initial password of the admin')
  withHome(command).action(async (options: { home?: string }) => {
    const home = existingHome(options.home)
    const { readSecret } = await import('../home/index.ts')
    const password = readSecret(home, 'admin-password')
    if (password === undefined) {
      throw notFound(
        `The cluster in [${home.root}] has no password: it has only run with --profile plain, which has no logins`,
      )
    }
    const { usesStoredAdmin } = await import('../cluster/index.ts')
    if (!usesStoredAdmin(home)) {
      throw conflict(
        `The cluster in [${home.root}] verifies all logins in an LDAP directory, so it has no stored password for [admin]`,
      )
    }
    process.stdout.write(`${password}\n`)
  })
}
