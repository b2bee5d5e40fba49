/** Calls of the servers among themselves. */
export { createServiceClient, type ServiceCall, type ServiceClient } from './service-client.ts'
