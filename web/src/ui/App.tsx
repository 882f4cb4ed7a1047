import { useEffect, useState } from 'react'
import { readAddress, writeAddress, type Address } from '../address'
import type { ViewPlan } from '../documents'
import { useTheme } from '../theme'
import { PipelineView, ServedPipeline } from './PipelineView'
import { Pipelines } from './Pipelines'

/** The whole page: all pipelines, or one; with a plan in the page itself, that one and no server. */
export function App({ plan }: { plan: ViewPlan | null }) {
  const theme = useTheme()
  const [address, setAddress] = useState<Address>(() => readAddress(window.location.search))
  const go = (next: Address): void => {
    setAddress(next)
    if (plan === null) window.history.pushState(null, '', writeAddress(next))
  }
  useEffect(() => {
    const onBack = (): void => setAddress(readAddress(window.location.search))
    window.addEventListener('popstate', onBack)
    return () => window.removeEventListener('popstate', onBack)
  }, [])
  if (plan) return <PipelineView plan={plan} run={null} runs={null} address={address} theme={theme} onGo={go} />
  if (!address.dagId) return <Pipelines theme={theme} onOpen={(dagId, runId) => go({ dagId, runId, regionId: null, tab: runId ? 'run' : 'job' })} />
  return <ServedPipeline key={address.dagId} address={address} theme={theme} onGo={go} />
}
