/** Who uses this tab, and requests on behalf of this user. */
export { LoginGate } from './login-gate.tsx'
export { fetchJson, RequestFailure, send } from './request.ts'
export { currentSession, endSession, inBytes, useSession } from './session.ts'
