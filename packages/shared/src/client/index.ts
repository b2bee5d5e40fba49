/** Calls between servers. */
export { createServiceClient, type ServiceCall, type ServiceClient } from './service-client.ts'
