/** Malicious inputs, for tests that reject them and the benchmark that times the rejections. */
export {
  catastrophicExpressions,
  injectedNames,
  namesOfAttack,
  separators,
  starts,
  strayTargets,
  ways,
} from './hostile-inputs.ts'
