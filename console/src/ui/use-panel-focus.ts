import { type RefObject, useEffect, useRef } from 'react'

// What a user does to look at something else.
const userActions = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

/**
 * Returns a ref for the panel that shows the selection. When the selection changes, focuses the panel, and scrolls it into view
 * unless it starts in the upper half of the window. In a narrow window, it is far below the list, and what is above it may still
 * grow: the panel stays in view until the user does something else.
 */
export function usePanelFocus(selected: string | undefined): RefObject<HTMLElement | null> {
  const panel = useRef<HTMLElement>(null)
  const last = useRef(selected)
  useEffect(() => {
    if (last.current === selected) return
    last.current = selected
    const shown = panel.current
    if (selected === undefined || shown === null) return
    shown.focus({ preventScroll: true })
    bringIntoView(shown)
    const observer = new ResizeObserver(() => bringIntoView(shown))
    observer.observe(document.body)
    const stop = (): void => {
      observer.disconnect()
      for (const action of userActions) removeEventListener(action, stop)
    }
    for (const action of userActions) addEventListener(action, stop, { passive: true })
    return stop
  }, [selected])
  return panel
}

function bringIntoView(panel: HTMLElement): void {
  const { top } = panel.getBoundingClientRect()
  if (top < 0 || top > innerHeight / 2) panel.scrollIntoView()
}
