/** Long calculations that let other work run every few milliseconds. */
export { createSlices, finishInSlices } from './slices.ts'
