/** Texts for people: counts, sizes, and durations, and text in HTML. */

export * from './amounts.ts'
export * from './escape-html.ts'
export * from './format-duration.ts'
