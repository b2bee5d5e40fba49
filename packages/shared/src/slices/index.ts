/** Long calculations that let other work run every few milliseconds. */
export { createSlices, createTurns, finishInSlices, type NextTurn } from './slices.ts'
