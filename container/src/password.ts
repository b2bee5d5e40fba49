import { readSecret } from '@svc/cli/home'
import { notFound } from '@svc/domain/failure'
import { containerHome } from './home.ts'

/** Prints the initial password of the admin. Throws a Failure if there is none. */
export function showPassword(): void {
  const password = readSecret(containerHome, 'admin-password')
  if (password === undefined)
    throw notFound('There is no password yet. To create one, run docker compose up.')
  process.stdout.write(`${password}\n`)
}
