import { conflict, notFound } from '@svc/domain/failure'
import type { Command } from 'commander'
import { existingHome, withHome } from './home-option.ts'

/** Adds `./svc password`. */
export function addPassword(program: Command): void {
  const command = program.command('password').description("print the admin's password as it was first set")
  withHome(command).action(async (options: { home?: string }) => {
    const home = existingHome(options.home)
    const { readSecret } = await import('../home/index.ts')
    const password = readSecret(home, 'admin-password')
    if (password === undefined) {
      throw notFound(`The cluster of [${home.root}] was only run with --profile plain, where nobody logs in`)
    }
    const { usesStoredAdmin } = await import('../cluster/index.ts')
    if (!usesStoredAdmin(home)) {
      throw conflict(
        `The cluster of [${home.root}] verifies all logins in a directory: it has no user [admin] with a password of its own`,
      )
    }
    process.stdout.write(`${password}\n`)
  })
}
