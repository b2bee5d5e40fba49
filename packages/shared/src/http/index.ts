/** HTTP as every server speaks it: routes as data, one application, one error shape, the listening ports. */
export { type ApplicationOptions, createApplication, type Forbidden, type NotedCalls } from './application.ts'
export { peerSubject } from './client-certificates.ts'
export { describeEndpoint, type EndpointDescription } from './describe-endpoint.ts'
export { errorBody, failureOf, statusOf } from './error-body.ts'
export { JsonPieces, jsonList, jsonListOf, jsonObject, jsonObjectOf } from './json-pieces.ts'
export * from './route.ts'
export { findPortProblems, type Listeners, listen } from './serve.ts'
