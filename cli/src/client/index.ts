/** Clients for the services of a running cluster, logged in as its admin if required. */
export * from './any-datasource.ts'
export {
  accessInHome,
  accessToCluster,
  accessToUrl,
  type ClusterAccess,
  failedConnection,
  type Login,
  notRunning,
} from './cluster-access.ts'
export * from './cluster-client.ts'
export * from './cluster-url.ts'
export * from './connection-error.ts'
export * from './input-text.ts'
export { pathAt, unsupportedByDruid } from './interface-name.ts'
export * from './request.ts'
export * from './wait-notices.ts'
export * from './without-login.ts'
