import { type RefObject, useEffect, useRef } from 'react'

/**
 * Returns a reference to the panel that shows what is selected. Whenever something else is selected, the panel gets the
 * focus and is scrolled into view: in a narrow window, it is far below.
 */
export function usePanelFocus(selected: string | undefined): RefObject<HTMLElement | null> {
  const panel = useRef<HTMLElement>(null)
  const last = useRef(selected)
  useEffect(() => {
    if (last.current === selected) return
    last.current = selected
    if (selected === undefined || panel.current === null) return
    panel.current.focus({ preventScroll: true })
    const { top } = panel.current.getBoundingClientRect()
    if (top < 0 || top > innerHeight / 2) panel.current.scrollIntoView()
  }, [selected])
  return panel
}
