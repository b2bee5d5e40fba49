import { type RefObject, useEffect, useRef } from 'react'

/**
 * Returns a ref for the panel that shows the selection. When the selection changes, focuses the panel, and scrolls it into view
 * unless it starts in the upper half of the window. In a narrow window, it is far below the list.
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
