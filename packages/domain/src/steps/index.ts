/** Long calculations that pause between steps, as generators. */
export { finish } from './finish.ts'
export { sortInSteps } from './sort-in-steps.ts'
