/** Calls between servers, and the journal of them. */
export { type CallJournal, createCallJournal } from './call-journal.ts'
export { createServiceClient, type ServiceCall, type ServiceClient } from './service-client.ts'
