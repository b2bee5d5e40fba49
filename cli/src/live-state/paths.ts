import { rulesPathOf } from '@svc/domain/rules'
import type { SectionKind } from '../declared-state/index.ts'

const security = '/proxy/coordinator/svc-ext/basic-security'
const compaction = '/svc/indexer/v1/compaction/config'

/** The path of all rules. */
export const rulesPath = '/svc/coordinator/v1/rules'
/** The path of the coordinator's dynamic configuration. */
export const coordinatorPath = '/svc/coordinator/v1/config'
/** The path of the cluster-wide compaction configuration. */
export const compactionClusterPath = `${compaction}/cluster`
/** The path of the compaction configurations of datasources. */
export const compactionDatasourcesPath = `${compaction}/datasources`
/** The path of the stores of users: those that log in, or those that have roles. */
export const storesPath = (kind: 'authentication' | 'authorization'): string => `${security}/${kind}`

/** Returns the path of a section of users or roles, such as the roles of an authorizer. */
export function sectionPath(kind: SectionKind, store: string): string {
  const at = `${storesPath(kind === 'logins' ? 'authentication' : 'authorization')}/db/${encodeURIComponent(store)}`
  return `${at}/${kind === 'logins' ? 'users' : kind}`
}

/** Returns the path of an entry, or of its section if the entry is a field. */
export function entryPath(kind: SectionKind, path: readonly string[]): string {
  const name = encodeURIComponent(path.at(-1)!)
  switch (kind) {
    case 'rules':
      return rulesPathOf(path.at(-1)!)
    case 'coordinator':
      return coordinatorPath
    case 'compactionCluster':
      return compactionClusterPath
    case 'compactionDatasources':
      return `${compactionDatasourcesPath}/${name}`
    default:
      return `${sectionPath(kind, path[1]!)}/${name}`
  }
}
