/**
 * Tables that belong to the running servers and not to the state of the cluster, and the list of migrations: copies and
 * backups leave them out. Leases stay in place, because their terms must never decrease.
 */
export const tablesOfServers = ['nodes', 'leader_leases', 'schema_migrations']

/** A name in a statement, in quotes. */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
