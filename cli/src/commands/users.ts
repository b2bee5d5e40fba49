import type { Command } from 'commander'
import {
  type ConnectionOptions,
  collect,
  connect,
  newPasswordOption,
  readNewPassword,
  withConnection,
} from '../options/index.ts'
import { printAnswer, printJson } from '../output/index.ts'
import type { User, UserStore } from '../users/index.ts'

interface UsersOptions extends ConnectionOptions {
  readonly authenticator?: string
  readonly authorizer?: string
  readonly json?: boolean
}

interface CreateOptions extends UsersOptions {
  readonly role?: readonly string[]
  readonly newPasswordFile?: string
}

interface RolesOptions extends UsersOptions {
  readonly add?: readonly string[]
  readonly remove?: readonly string[]
}

/** Adds `./svc users` with its commands. */
export function addUsers(program: Command): void {
  const users = program
    .command('users')
    .description('Show, create, and change the users of a running cluster')
    .addHelpText(
      'after',
      `
Examples:
  ./svc users
  ./svc users create reader --role readers --new-password-file secret
  ./svc users roles reader --add analysts --remove readers
  ./svc users password reader
  ./svc users remove reader`,
    )
  addList(users)
  addCreate(users)
  addRoles(users)
  addPassword(users)
  addRemove(users)
}

function withStore(command: Command): Command {
  return withConnection(command)
    .option('--authenticator <name>', 'Authenticator that stores passwords (default: the only one that does)')
    .option('--authorizer <name>', 'Authorizer that stores roles (default: the only one that does)')
    .option('--json', 'Print JSON')
}

async function openStore({ authenticator, authorizer, ...connection }: UsersOptions): Promise<UserStore> {
  const client = await connect(connection)
  const { openUserStore } = await import('../users/index.ts')
  return await openUserStore(client, { authenticator, authorizer })
}

async function printUsers(users: readonly User[], answer: unknown, json: boolean | undefined): Promise<void> {
  const { usersTable } = await import('../users/index.ts')
  await printAnswer(json, answer, usersTable(users), 'There are no users.')
}

function addList(users: Command): void {
  withStore(users.command('list', { isDefault: true }).description('Show all users')).action(
    async (options: UsersOptions) => {
      const found = await (await openStore(options)).list()
      await printUsers(found, found, options.json)
    },
  )
}

function addCreate(users: Command): void {
  withStore(users.command('create').description('Create a user'))
    .argument('<user>', 'User name')
    .option('--role <name>', 'Role to assign (repeatable)', collect)
    .option(
      '--new-password-file <file>',
      'File with the password (- for standard input; default: none, so the user cannot log in)',
    )
    .action(async (name: string, options: CreateOptions) => {
      const { role: roles = [], newPasswordFile } = options
      const password = newPasswordFile === undefined ? undefined : await readNewPassword(newPasswordFile)
      const store = await openStore(options)
      await store.create(name, { password, roles })
      const created = await store.get(name)
      await printUsers([created], created, options.json)
    })
}

function addRoles(users: Command): void {
  withStore(users.command('roles').description('Show, assign, or remove roles of a user'))
    .argument('<user>', 'User name')
    .option('--add <role>', 'Role to assign (repeatable)', collect)
    .option('--remove <role>', 'Role to remove (repeatable)', collect)
    .action(async (name: string, options: RolesOptions) => {
      const store = await openStore(options)
      for (const role of options.add ?? []) await store.addRole(name, role)
      for (const role of options.remove ?? []) await store.removeRole(name, role)
      const changed = await store.get(name)
      await printUsers([changed], changed, options.json)
    })
}

function addPassword(users: Command): void {
  withStore(users.command('password').description('Set the password of a user'))
    .argument('<user>', 'User name')
    .addOption(newPasswordOption())
    .addHelpText(
      'after',
      `
For the admin of a home, the new password is also stored in the home; ./svc password prints it.`,
    )
    .action(async (name: string, options: UsersOptions & { newPasswordFile?: string }) => {
      const password = await readNewPassword(options.newPasswordFile)
      const store = await openStore(options)
      await store.setPassword(name, password)
      if (options.url === undefined && name === 'admin') {
        const { storeAdminPassword } = await import('./password.ts')
        await storeAdminPassword(options.home, password)
      }
      if (options.json) printJson({ user: name })
      else process.stdout.write(`Set the password of [${name}].\n`)
    })
}

function addRemove(users: Command): void {
  withStore(users.command('remove').description('Remove a user'))
    .argument('<user>', 'User name')
    .action(async (name: string, options: UsersOptions) => {
      await (await openStore(options)).remove(name)
      if (options.json) printJson({ user: name })
      else process.stdout.write(`Removed user [${name}].\n`)
    })
}
