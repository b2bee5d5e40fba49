/** The journal of calls among the servers: what the identity of the servers is used for. */
export { type Call, type CallJournal, createCallJournal } from './journal.ts'
