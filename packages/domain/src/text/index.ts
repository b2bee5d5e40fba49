/** Texts for people: counts, sizes, and durations, text in HTML, and words of shell commands. */

export * from './amounts.ts'
export * from './escape-html.ts'
export * from './format-duration.ts'
export * from './shell-word.ts'
