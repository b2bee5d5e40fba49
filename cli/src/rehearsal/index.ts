/** A home of virtual servers and segments: what `./svc import` makes of a real cluster, to rehearse changes on. */
export * from './make-rehearsal.ts'
