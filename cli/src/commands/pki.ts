import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { invalidInput } from '@svc/domain/failure'
import type { Command } from 'commander'
import { existingHome, parseHome, parsePositiveInteger } from '../options/index.ts'
import type { StoreType } from '../pki/index.ts'

interface FolderOptions {
  readonly home?: string
  readonly folder?: string
  readonly password?: string
}

/** Adds `./svc pki` with its commands. */
export function addPki(program: Command): void {
  const pki = program
    .command('pki')
    .description('Create, replace, and break certificates for development and tests')
    .addHelpText(
      'after',
      `
A running server picks up a new certificate within a second. All key stores share one password, which is stored in the
home or, with --folder, in the file key-store-password in that folder.

Examples:
  ./svc pki rotate historical-1
  ./svc pki expire historical-1
  ./svc pki revoke historical-1
  ./svc pki init --folder /tmp/pki
  ./svc pki issue postgres --folder /tmp/pki --hosts localhost,127.0.0.1
  ./svc pki bad-set --folder /tmp/pki`,
    )
  addCreating(pki)
  addReplacing(pki)
  addBadSet(pki)
}

function addCreating(pki: Command): void {
  withFolder(
    pki
      .command('init')
      .description('Create a certificate authority, its trust stores, and its revocation list'),
  ).action(async (options: FolderOptions) => {
    const { initAuthority } = await tools()
    printFiles(await initAuthority(openFolder(options)))
  })
  withFolder(pki.command('issue').description('Issue a certificate with a new key'))
    .argument('<name>', 'Subject, alias, and file name')
    .option('--hosts <list>', 'Comma-separated host names and addresses (default: this machine)')
    .option('--type <list>', 'Comma-separated key store formats: pem, jks, pkcs12 (default: all)')
    .option('--days <n>', 'Days until the certificate expires (default: 365)')
    .action(async (name: string, options: IssueOptions) => {
      const content = {
        hosts: parseHosts(options.hosts),
        types: parseTypes(options.type),
        days: parseDays(options.days),
      }
      const { issueStores } = await tools()
      printFiles(await issueStores(openFolder(options), name, content))
    })
}

function addReplacing(pki: Command): void {
  withFolder(pki.command('rotate').description('Reissue certificates with new keys for the same hosts'))
    .argument('[name...]', 'Names of the certificates (default: all)')
    .action(async (names: string[], options: FolderOptions) => {
      const { rotateStores } = await tools()
      printFiles(await rotateStores(openFolder(options), names))
    })
  withFolder(pki.command('expire').description('Replace a certificate with an expired one'))
    .argument('<name>', 'Name of the certificate')
    .action(async (name: string, options: FolderOptions) => {
      const { expireStores } = await tools()
      printFiles(await expireStores(openFolder(options), name))
    })
  withFolder(pki.command('revoke').description('Revoke a certificate'))
    .argument('<name>', 'Name of the certificate')
    .action(async (name: string, options: FolderOptions) => {
      const { revokeCertificate } = await tools()
      printFiles([await revokeCertificate(openFolder(options), name)])
      if (options.folder !== undefined) return
      const { unreadRevocations } = await import('../cluster/index.ts')
      for (const sentence of unreadRevocations(existingHome(options.home)))
        process.stdout.write(`${sentence}\n`)
    })
}

function addBadSet(pki: Command): void {
  withFolder(
    pki
      .command('bad-set')
      .description('Create a folder named bad with certificates that servers and clients must reject'),
  )
    .option('--hosts <list>', 'Comma-separated host names and addresses (default: this machine)')
    .action(async (options: FolderOptions & { hosts?: string }) => {
      const { issueBadSet } = await tools()
      printFiles(await issueBadSet(openFolder(options), parseHosts(options.hosts)))
    })
}

interface IssueOptions extends FolderOptions {
  readonly hosts?: string
  readonly type?: string
  readonly days?: string
}

function withFolder(command: Command): Command {
  return command
    .option('--home <dir>', 'Home with the certificates (default: .svc next to ./svc)', parseHome)
    .option('--folder <dir>', 'Folder with the certificates, independent of any cluster')
    .option('--password <text>', 'Password of the key stores (default: the stored one)')
}

async function tools() {
  const { pkiTools } = await import('../pki/index.ts')
  return await pkiTools()
}

function openFolder({ home, folder, password }: FolderOptions) {
  if (home !== undefined && folder !== undefined)
    throw invalidInput('Options --home and --folder cannot be combined')
  if (password === '') throw invalidInput('Invalid value [] for [--password]: expected a non-empty password')
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

/** The password in a file, which is created with a random one if missing. */
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
    throw invalidInput(`Invalid entry [${bad}] in [--hosts]: expected a host name or an address`)
  return hosts
}

function parseTypes(text: string | undefined): StoreType[] {
  if (text === undefined) return [...storeTypes]
  return text.split(',').map((word) => {
    const type = storeTypes.find((candidate) => candidate === word.trim())
    if (!type) throw invalidInput(`Invalid entry [${word}] in [--type]: expected pem, jks, or pkcs12`)
    return type
  })
}

const storeTypes: readonly StoreType[] = ['pem', 'jks', 'pkcs12']

function parseDays(text = '365'): number {
  return parsePositiveInteger('--days', text, 99_999)
}

function printFiles(files: readonly string[]): void {
  for (const file of files) process.stdout.write(`Wrote ${file}\n`)
}
