/** Who uses this tab, and requests on behalf of this user. */
export { explainPath, refusalPath, refusedIdIn, requestIn, requestOfEvent } from './explain-path.ts'
export { LoginGate } from './login-gate.tsx'
export { dismissRefusal, useLastRefusal } from './refusals.ts'
export { answerLocally, fetchJson, RequestFailure, send } from './request.ts'
export {
  currentSession,
  endSession,
  inBytes,
  logOut,
  onLoginAgain,
  onUserChange,
  openSession,
  useSession,
} from './session.ts'
export { hasCluster, pageSource } from './source.ts'
