import type { Table } from '../terminal/index.ts'
import type { User } from './user-store.ts'

/** One row per user. */
export function usersTable(users: readonly User[]): Table {
  return {
    header: ['user', 'password', 'roles'],
    rows: users.map(({ user, hasPassword, roles }) => [user, hasPassword ? 'set' : 'none', roles.join(', ')]),
  }
}
