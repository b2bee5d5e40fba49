/** Wording: lists every user-facing string, and checks text for phrases to replace. */

export { stringKinds } from './call-sites.ts'
export { checkWording } from './check-wording.ts'
export { drawSample } from './draw-sample.ts'
export { formatStrings, readStrings } from './list-strings.ts'
