/** How commands end: their exit statuses, and Ctrl-C. */
export {
  exitStatus,
  exitStatusHelp,
  exitStatusMeanings,
  exitStatusOf,
} from './exit-status.ts'
export { stopRequest } from './stop-request.ts'
