import type { Choices } from '../differential/choices.ts'
import type { Rules } from '../previews/cases.ts'

/** A declared state in JSON: rules of all datasources, compaction, the dynamic configuration, roles, and users. */
export type DeclaredJson = Readonly<Record<string, object>>

/** Returns a random state that declares these rules. */
export function randomState(choices: Choices, authorizer: string, rules: Rules): DeclaredJson {
  const names = Object.keys(rules).filter((name) => name !== '_default')
  const compaction = choices
    .some(names, 2)
    .map((name) => [
      name,
      { skipOffsetFromLatest: `P${choices.whole(2, 9)}D`, taskPriority: choices.whole(10, 20) },
    ])
  const roles = choices.some(['reader', 'writer', 'odd name'], 2).map((role) => [
    role,
    choices.some(names, 2).map((name) => ({
      resource: { type: 'DATASOURCE', name },
      action: choices.one(['READ', 'WRITE']),
    })),
  ])
  const known = roles.map(([role]) => role as string)
  const users = choices.some(['ann', 'bob'], 2).map((user) => [user, choices.some(known, 2)])
  return {
    rules,
    compaction: { datasources: Object.fromEntries(compaction) as object },
    coordinator: {
      replicationThrottleLimit: choices.whole(400, 600),
      maxKillTaskSlots: choices.whole(1, 9),
    },
    authorizers: {
      [authorizer]: {
        roles: Object.fromEntries(roles) as object,
        users: Object.fromEntries(users) as object,
      },
    },
  }
}
