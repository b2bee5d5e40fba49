import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { LoginGate } from './session/index.ts'
import './style.css'

const queries = new QueryClient({
  defaultOptions: { queries: { retry: 1, retryDelay: 1000, staleTime: 2000, refetchOnWindowFocus: true } },
})

createRoot(document.querySelector('#root')!).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <LoginGate>
        <App />
      </LoginGate>
    </QueryClientProvider>
  </StrictMode>,
)
