/** HTTP for all servers: routes as data, the application, error bodies, and the ports. */
export { type Answer, emptyAnswer, jsonAnswer, noContent, shapeOf, textAnswer } from './answer.ts'
export { type ApplicationOptions, createApplication, type Forbidden } from './application.ts'
export type { Call } from './call.ts'
export { peerSubject } from './client-certificates.ts'
export type { RefusedConnection } from './connection-limits.ts'
export {
  type AnswerDescription,
  describeEndpoint,
  type EndpointDescription,
  type JsonSchema,
} from './describe-endpoint.ts'
export { entityTag, versionCheck, versionOfText } from './entity-tag.ts'
export { errorBody, errorSchema, failureOf, statusOf } from './error-body.ts'
export { JsonPieces } from './json-pieces.ts'
export { createPace, hasBody } from './receive-body.ts'
export { createRefusals, type Refusals } from './refusals.ts'
export { createRequestGate, type RequestGate } from './request-gate.ts'
export * from './route-definition.ts'
export { findPortProblems, type Listeners, listen } from './serve.ts'
export { SharedBudget } from './shared-budget.ts'
