/** Inputs that attack, for the tests that refuse them and the benchmark that times the refusals. */
export {
  catastrophicExpressions,
  injectedNames,
  namesOfAttack,
  separators,
  starts,
  strayTargets,
  ways,
} from './hostile-inputs.ts'
