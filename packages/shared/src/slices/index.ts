/** Long calculations that let other work run every few milliseconds. */
export { createSlices, finishInSlices, nextTurn } from './slices.ts'
