const rewordings: readonly (readonly [RegExp, string])[] = [
  [/--admin-password\b/g, 'adminPassword'],
  [/--historicals\b/g, 'historicals'],
  [/--instances\b/g, 'instances'],
  [/--profile\b/g, 'profile'],
  [/--set\b/g, 'properties'],
  [/\bwith --home\b/g, 'with the option [home]'],
]

/** A message of the command about a cluster, with the names of the options of `startCluster`. */
export const withOptionNames = (message: string): string =>
  rewordings.reduce((text, [found, replacement]) => text.replace(found, replacement), message)
