import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { setClockOffset } from './clock/index.ts'
import { clearDrafts } from './drafts/index.ts'
import { preloadScreens } from './lazy-screen.tsx'
import {
  dismissRefusal,
  hasCluster,
  LoginGate,
  onLoginAgain,
  onUserChange,
  RequestFailure,
} from './session/index.ts'
import { SnapshotGate } from './snapshot/index.ts'
import { Boundary } from './ui/index.ts'
import { startWorker } from './web-worker/index.ts'
import './style.css'

const isRefused = (error: Error): boolean =>
  error instanceof RequestFailure && error.status >= 400 && error.status < 500

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      // The same request would be refused again, and the refusal shown again, even on the next screen.
      retry: (failures, error) => failures === 0 && !isRefused(error),
      retryDelay: 1000,
      staleTime: 2000,
      refetchOnWindowFocus: true,
      // The worker needs no network, and a cluster on this machine is reachable without one.
      networkMode: 'always',
    },
  },
})

// The next user must not see anything of the last one.
onUserChange(() => {
  queries.clear()
  clearDrafts()
  dismissRefusal()
  setClockOffset(0)
})

// Requests that were sent before the login may still fail, so they are canceled first.
onLoginAgain(() => void queries.cancelQueries().then(() => queries.invalidateQueries()))

const Gate = hasCluster() ? LoginGate : SnapshotGate

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <Boundary>
      <QueryClientProvider client={queries}>
        <Gate>
          <App />
        </Gate>
      </QueryClientProvider>
    </Boundary>
  </StrictMode>,
)

// Once the first screen is shown, everything else that the page may need later.
const preload = (): void => {
  startWorker()
  preloadScreens()
}
if ('requestIdleCallback' in window) requestIdleCallback(preload, { timeout: 5000 })
else setTimeout(preload, 1000)
