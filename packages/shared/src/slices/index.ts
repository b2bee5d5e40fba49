/** Long calculations that let other work run every few milliseconds. */
export { createSlices, runSlice, type Slices } from './slices.ts'
