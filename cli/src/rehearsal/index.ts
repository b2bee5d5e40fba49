/** A home whose servers and segments are virtual, made from what a real cluster manages, to rehearse changes on. */
export * from './make-rehearsal.ts'
