import { useEffect, useState } from 'react'
import { readAddress, writeAddress, type Address } from '../address'
import type { ViewPlan } from '../documents'
import { nameOutside, outsideSearch, passSearchKey } from '../surroundings'
import { useTheme } from '../theme'
import { PipelineView, ServedPipeline } from './PipelineView'
import { Pipelines } from './Pipelines'

/** The whole page: all pipelines, or one. If a plan is embedded in the page, only that one, without a server. */
export function App({ plan }: { plan: ViewPlan | null }) {
  const theme = useTheme()
  const [address, setAddress] = useState<Address>(() => readAddress(window.location.search, outsideSearch()))
  const go = (next: Address): void => {
    setAddress(next)
    if (plan !== null) return
    window.history.pushState(null, '', writeAddress(next))
    nameOutside(next)
  }
  useEffect(() => {
    // Put what the surrounding page shows into this page's URL, so that Back leads to it.
    if (plan === null) window.history.replaceState(null, '', writeAddress(address))
    // eslint-disable-next-line react-hooks/exhaustive-deps -- only once: later, `go` does it
  }, [])
  useEffect(() => {
    const onBack = (): void => {
      const before = readAddress(window.location.search)
      setAddress(before)
      nameOutside(before)
    }
    window.addEventListener('popstate', onBack)
    window.addEventListener('keydown', passSearchKey)
    return () => {
      window.removeEventListener('popstate', onBack)
      window.removeEventListener('keydown', passSearchKey)
    }
  }, [])
  if (plan) return <PipelineView plan={plan} run={null} runs={null} address={address} theme={theme} onGo={go} />
  if (!address.dagId) return <Pipelines theme={theme} onOpen={go} />
  return <ServedPipeline key={address.dagId} address={address} theme={theme} onGo={go} />
}
