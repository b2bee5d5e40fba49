import { useEffect, useState } from 'react'

type Theme = 'dark' | 'light'

const systemTheme = (): Theme => (matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark')

/** The theme that was chosen in this browser, which may not allow the page to store anything. */
function storedTheme(): Theme | undefined {
  try {
    const stored = localStorage.getItem('theme')
    return stored === 'dark' || stored === 'light' ? stored : undefined
  } catch {
    return undefined
  }
}

function storeTheme(theme: Theme): void {
  try {
    localStorage.setItem('theme', theme)
  } catch {
    // The choice applies until the page is closed.
  }
}

/** A button that switches between dark and light. The choice is kept in this browser. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState<Theme>(() => storedTheme() ?? systemTheme())
  useEffect(() => {
    document.documentElement.dataset.theme = theme
  }, [theme])
  const other = theme === 'dark' ? 'light' : 'dark'
  const choose = () => {
    storeTheme(other)
    setTheme(other)
  }
  return (
    <button type="button" className="quiet" onClick={choose} title={`Switch to the ${other} theme`}>
      {theme === 'dark' ? 'Light' : 'Dark'}
    </button>
  )
}
