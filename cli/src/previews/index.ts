/** Previews of rules: those of svc, and for Druid, which has none, those that are computed here. */
export { type PreviewRules, previewsOf, previewsOfSvc } from './preview-rules.ts'
