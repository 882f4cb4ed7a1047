/** Light or dark mode: that of the Airflow page around this one, or else of the system. */

import { useEffect, useState } from 'react'
import type { Theme } from './export/palette'
import { surroundingHtml } from './surroundings'

export function themeOf(html: HTMLElement | null, isSystemDark: boolean): Theme {
  if (html?.classList.contains('dark') || html?.dataset['theme'] === 'dark') return 'dark'
  if (html?.classList.contains('light') || html?.dataset['theme'] === 'light') return 'light'
  return isSystemDark ? 'dark' : 'light'
}

export function useTheme(): Theme {
  const [theme, setTheme] = useState<Theme>(() => themeOf(surroundingHtml(), matchMedia('(prefers-color-scheme: dark)').matches))
  useEffect(() => {
    const html = surroundingHtml()
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
