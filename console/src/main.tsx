import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { hasCluster, LoginGate } from './session/index.ts'
import { SnapshotGate } from './snapshot/index.ts'
import './style.css'

const queries = new QueryClient({
  defaultOptions: { queries: { retry: 1, retryDelay: 1000, staleTime: 2000, refetchOnWindowFocus: true } },
})

const Gate = hasCluster() ? LoginGate : SnapshotGate

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <Gate>
        <App />
      </Gate>
    </QueryClientProvider>
  </StrictMode>,
)
