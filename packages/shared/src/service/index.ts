/** The lifecycle of a server, for all roles, and the endpoints that every server has. */

export type { ServiceContext, ServicePart } from './context.ts'
export { certificateShape } from './refusal-routes.ts'
export { assertTestable, emptyFolder, resetPath } from './reset.ts'
export { retryWhileStoreIsUnavailable } from './retry-while-store-is-unavailable.ts'
export { runService } from './run-service.ts'
export { problemLifeMs } from './server-problems.ts'
export { standForElection } from './stand-for-election.ts'
