/** Marking segments as used or unused on request. */
export { segmentUseRoutes } from './routes.ts'
