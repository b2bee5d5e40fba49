/** A view of the segments that the historicals serve, kept up to date by following each historical. */
export { createServedView, type ServedView } from './served-view.ts'
