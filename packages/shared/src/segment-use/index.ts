/** Marking segments used and unused, as people ask for it. */
export { segmentUseRoutes } from './routes.ts'
