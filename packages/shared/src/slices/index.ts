/** Long calculations that let other work run every few milliseconds. */
export {
  createSharedTurns,
  createSlices,
  createTurns,
  finishInBackground,
  finishInSlices,
  type NextTurn,
} from './slices.ts'
