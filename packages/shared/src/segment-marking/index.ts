/** Marks segments as used or unused on request: endpoints of coordinators and overlords. */
export { segmentMarkingRoutes } from './routes.ts'
