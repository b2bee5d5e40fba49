import { X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { readInputText } from '../client/index.ts'

/** As which user to log in to another cluster, and which certificates to trust. */
export interface LoginOptions {
  readonly user?: string
  readonly passwordFile?: string
  readonly trust?: string
}

/** Adds the options of a login. */
export function withLogin(command: Command): Command {
  return command
    .option('--user <name>', 'User name, or name:password')
    .option('--password-file <file>', 'File with the password of the user (- for standard input)')
    .option('--trust <file>', 'PEM file of CA certificates to trust')
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** The certificates of `--trust`. A file without any is refused here: otherwise every call would fail for another reason. */
export function trustedOf({ trust: file }: LoginOptions): string | undefined {
  if (file === undefined) return undefined
  const refuse = (found: string) =>
    invalidInput(`Invalid value [${file}] for [--trust]: expected a PEM file of certificates, but ${found}`)
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw refuse('it is a folder')
  const text = readInputText(file, 'certificates')
  const blocks = text.match(certificate) ?? []
  if (blocks.length === 0)
    throw refuse(/PRIVATE KEY/.test(text) ? 'it contains a private key' : 'it contains no certificate')
  for (const [index, block] of blocks.entries()) {
    try {
      new X509Certificate(block)
    } catch {
      throw refuse(`certificate [${index + 1}] is unreadable`)
    }
  }
  return blocks.join('\n')
}

/** The login as `name:password`; undefined if there is none. Throws invalidInput if only one of them is given. */
export function credentialsOf({ user, passwordFile }: LoginOptions): string | undefined {
  if (passwordFile === undefined) {
    if (user !== undefined && !/^[^:]+:./.test(user))
      throw invalidInput('Option --user has no password: add --password-file, or use name:password')
    return user
  }
  if (user === undefined || user.includes(':'))
    throw invalidInput('Option --password-file requires a --user without a password')
  return `${user}:${readPassword(passwordFile)}`
}

/** The password in a file, without the line break at its end. */
export function readPassword(file: string): string {
  return readInputText(file, 'password').replace(/\r?\n$/, '')
}
