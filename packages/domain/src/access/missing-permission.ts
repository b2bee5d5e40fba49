import { type Failure, forbidden } from '../failure/index.ts'
import type { Action, ResourceType } from './permission.ts'

/** A resource for messages: `[DATASOURCE] [flights]`. STATE is the only resource of its type, so its name is left out. */
export const resourceText = (type: ResourceType, name: string): string =>
  type === 'STATE' && name === 'STATE' ? `[${type}]` : `[${type}] [${name}]`

/** Returns the failure for a caller who lacks the permission for `action` on a resource. */
export const missingPermission = (action: Action, type: ResourceType, name: string): Failure =>
  forbidden(`Missing permission [${action}] on ${resourceText(type, name)}`)
