/** Calls between servers, and the journal of them. */
export { type CallJournal, createCallJournal } from './call-journal.ts'
export { createServiceClient, type ServiceClient } from './service-client.ts'
