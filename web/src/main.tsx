import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import type { ViewPlan } from './documents'
import './styles.css'
import { App } from './ui/App'
import { ErrorBoundary } from './ui/ErrorBoundary'

const written = document.getElementById('view-plan')?.textContent
const plan = written ? (JSON.parse(written) as ViewPlan) : null
if (plan) document.title = plan.pipeline
const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <ErrorBoundary>
        <App plan={plan} />
      </ErrorBoundary>
    </StrictMode>,
  )
}
