import type { Action, ResourceType } from '@svc/domain/access'
import { type Caller, decided } from '../security/index.ts'

/** Returns a caller whose permissions a function decides. */
export const testCaller = (
  grants: (action: Action, type: ResourceType, name: string) => boolean,
  more: Partial<Pick<Caller, 'identity' | 'authenticator' | 'hasAny' | 'compatibility'>> = {},
): Caller => ({
  identity: '',
  authenticator: '',
  groups: [],
  compatibility: false,
  can: grants,
  decide: (action, dataSource) => decided(grants(action, 'DATASOURCE', dataSource)),
  hasAny: () => true,
  ...more,
})
