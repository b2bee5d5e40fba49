/** Plans: how the files of a declared state change a cluster, what that does, and how it is applied. */
export * from './apply-plan.ts'
export * from './make-plan.ts'
export * from './plan-html.ts'
export * from './plan-markdown.ts'
export * from './plan-report.ts'
export { effectsOf, lossesOf, previewBodyOf } from './rules-effects.ts'
