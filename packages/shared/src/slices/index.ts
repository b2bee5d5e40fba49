/** Long calculations that let other work run every few milliseconds. */
export { createSlices, finishInSlices, type Slices } from './slices.ts'
