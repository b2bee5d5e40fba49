import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import type { StoreType } from '../pki/index.ts'
import { existingHome, parseHome } from './home-option.ts'
import { parseWholeNumber } from './whole-number.ts'

interface FolderOptions {
  readonly home?: string
  readonly folder?: string
  readonly password?: string
}

/** Adds `./svc pki` with its commands. */
export function addPki(program: Command): void {
  const pki = program
    .command('pki')
    .description('certificates for development and tests: make, replace, spoil')
    .addHelpText(
      'after',
      `
A certificate of a home that is made anew is used by its running server within a second. All key stores have one
password: that of the home, or the one in the file key-store-password of --folder.

Examples:
  ./svc pki rotate historical-1
  ./svc pki expire historical-1
  ./svc pki revoke historical-1
  ./svc pki init --folder /tmp/pki
  ./svc pki issue postgres --folder /tmp/pki --hosts localhost,127.0.0.1
  ./svc pki bad-set --folder /tmp/pki`,
    )
  withFolder(
    pki.command('init').description('make the authority, its trust stores and its list of revoked'),
  ).action(async (options: FolderOptions) => {
    const { initAuthority } = await tools()
    tellFiles(await initAuthority(openFolder(options)))
  })
  withFolder(pki.command('issue').description('issue a certificate with a new key'))
    .argument('<name>', 'its subject, its alias and the name of its files')
    .option(
      '--hosts <list>',
      'host names and addresses that it is for, with commas between (default: this machine)',
    )
    .option('--type <list>', 'formats of the key store: pem, jks, pkcs12 (default: all)')
    .option('--days <n>', 'how long it holds (default: 365)')
    .action(async (name: string, options: IssueOptions) => {
      const content = {
        hosts: parseHosts(options.hosts),
        types: parseTypes(options.type),
        days: parseDays(options.days),
      }
      const { issueStores } = await tools()
      tellFiles(await issueStores(openFolder(options), name, content))
    })
  withFolder(pki.command('rotate').description('issue certificates anew, with new keys, for the same hosts'))
    .argument('[name...]', 'whose (default: all)')
    .action(async (names: string[], options: FolderOptions) => {
      const { rotateStores } = await tools()
      tellFiles(await rotateStores(openFolder(options), names))
    })
  withFolder(pki.command('expire').description('replace a certificate by one that has run out'))
    .argument('<name>', 'whose')
    .action(async (name: string, options: FolderOptions) => {
      const { expireStores } = await tools()
      tellFiles(await expireStores(openFolder(options), name))
    })
  withFolder(pki.command('revoke').description('put a certificate on the list of revoked ones'))
    .argument('<name>', 'whose')
    .action(async (name: string, options: FolderOptions) => {
      const { revokeCertificate } = await tools()
      tellFiles([await revokeCertificate(openFolder(options), name)])
      if (options.folder !== undefined) return
      const { unreadRevocations } = await import('../cluster/index.ts')
      for (const sentence of unreadRevocations(existingHome(options.home)))
        process.stdout.write(`${sentence}\n`)
    })
  withFolder(
    pki
      .command('bad-set')
      .description('make the bad certificates that servers and clients must refuse, in a folder bad'),
  )
    .option('--hosts <list>', 'host names and addresses that they are for (default: this machine)')
    .action(async (options: FolderOptions & { hosts?: string }) => {
      const { issueBadSet } = await tools()
      tellFiles(await issueBadSet(openFolder(options), parseHosts(options.hosts)))
    })
}

interface IssueOptions extends FolderOptions {
  readonly hosts?: string
  readonly type?: string
  readonly days?: string
}

function withFolder(command: Command): Command {
  return command
    .option('--home <dir>', 'the certificates of this home (default: .svc beside ./svc)', parseHome)
    .option('--folder <dir>', 'those of a folder of its own, apart from any cluster')
    .option('--password <text>', 'of its key stores, instead of the one that is kept')
}

async function tools() {
  const { pkiTools } = await import('../pki/index.ts')
  return await pkiTools()
}

function openFolder({ home, folder, password }: FolderOptions) {
  if (home !== undefined && folder !== undefined)
    throw invalidInput('Options --home and --folder exclude each other')
  if (password === '') throw invalidInput('Option --password has an empty value; allowed is any text')
  const now = Date.now()
  if (folder !== undefined) {
    const root = path.resolve(folder)
    mkdirSync(root, { recursive: true, mode: 0o700 })
    return { folder: root, password: password ?? keptPassword(path.join(root, 'key-store-password')), now }
  }
  const layout = existingHome(home)
  const kept = password ?? keptPassword(path.join(layout.secrets, 'key-store-password'))
  return { folder: layout.pki, password: kept, now }
}

/** The password in a file, which is made at first. */
function keptPassword(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const password = randomBytes(24).toString('base64url')
  writeFileSync(file, password, { mode: 0o600, flag: 'wx' })
  return password
}

function parseHosts(text: string | undefined): string[] {
  if (text === undefined) return [...new Set(['localhost', '127.0.0.1', '::1', hostname()])]
  const hosts = text.split(',').map((host) => host.trim())
  const bad = hosts.find((host) => !/^[\w.:*-]+$/.test(host))
  if (bad !== undefined)
    throw invalidInput(`Option --hosts has the entry [${bad}], allowed are host names and addresses`)
  return hosts
}

function parseTypes(text: string | undefined): StoreType[] {
  if (text === undefined) return [...storeTypes]
  return text.split(',').map((word) => {
    const type = storeTypes.find((candidate) => candidate === word.trim())
    if (!type) throw invalidInput(`Option --type has the entry [${word}], allowed are pem, jks and pkcs12`)
    return type
  })
}

const storeTypes: readonly StoreType[] = ['pem', 'jks', 'pkcs12']

function parseDays(text = '365'): number {
  return parseWholeNumber('--days', text, 99_999)
}

function tellFiles(files: readonly string[]): void {
  for (const file of files) process.stdout.write(`Wrote ${file}\n`)
}
