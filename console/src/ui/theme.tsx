import { useEffect, useState } from 'react'

type Theme = 'dark' | 'light'

const systemTheme = (): Theme => (matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark')

/** A button that switches between dark and light. The choice is kept in this browser. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(
    () => (localStorage.getItem('theme') as Theme | null) ?? systemTheme(),
  )
  useEffect(() => {
    document.documentElement.dataset.theme = theme
  }, [theme])
  const other = theme === 'dark' ? 'light' : 'dark'
  const choose = () => {
    localStorage.setItem('theme', other)
    setTheme(other)
  }
  return (
    <button type="button" className="quiet" onClick={choose} title={`Switch to the ${other} theme`}>
      {theme === 'dark' ? 'Light' : 'Dark'}
    </button>
  )
}
