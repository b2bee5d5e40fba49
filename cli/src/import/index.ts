/** A home of virtual servers and segments: `./svc import` creates it from a real cluster, to rehearse changes on. */
export * from './create-rehearsal.ts'
export { formatImportReport, readImportReport } from './import-report.ts'
