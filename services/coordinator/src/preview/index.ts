/** What a change of rules would do to the cluster as it is: looked at, decided in slices, and never applied. */
export { createPreviews, type Previews } from './previews.ts'
export { createSlices } from './slices.ts'
