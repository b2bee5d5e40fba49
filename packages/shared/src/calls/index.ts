/** The journal of internal calls: the calls between servers and the user each one ran as. */
export { type Call, type CallJournal, createCallJournal } from './journal.ts'
