/** Light or dark: as the Airflow around it says, else as the system says. */

import { useEffect, useState } from 'react'
import type { Theme } from './export/palette'

/** Airflow is in the same origin and marks its <html> with the class `dark` or `light`. */
function surrounding(): HTMLElement | null {
  try {
    return window.parent === window ? null : window.parent.document.documentElement
  } catch {
    return null // another origin: a page somebody embedded
  }
}

export function themeOf(html: HTMLElement | null, isSystemDark: boolean): Theme {
  if (html?.classList.contains('dark') || html?.dataset['theme'] === 'dark') return 'dark'
  if (html?.classList.contains('light') || html?.dataset['theme'] === 'light') return 'light'
  return isSystemDark ? 'dark' : 'light'
}

export function useTheme(): Theme {
  const [theme, setTheme] = useState<Theme>(() => themeOf(surrounding(), matchMedia('(prefers-color-scheme: dark)').matches))
  useEffect(() => {
    const html = surrounding()
    const system = matchMedia('(prefers-color-scheme: dark)')
    const update = (): void => setTheme(themeOf(html, system.matches))
    const observer = new MutationObserver(update)
    if (html) observer.observe(html, { attributes: true, attributeFilter: ['class', 'data-theme'] })
    system.addEventListener('change', update)
    return () => {
      observer.disconnect()
      system.removeEventListener('change', update)
    }
  }, [])
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
  }, [theme])
  return theme
}
