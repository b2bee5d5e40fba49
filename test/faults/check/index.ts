/** Finds the violations in a history. Pure, so that any recorded history can be checked again. */
export { checkHistory, type Invariant, invariants, type Verdict } from './check.ts'
export { type FinalCopies, wrongCopies } from './segments.ts'
