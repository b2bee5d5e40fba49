import type { PreviewView } from '../web-worker/index.ts'

/** A preview, and what it is about: one edit at one time. */
export interface ShownPreview {
  readonly view: PreviewView
  readonly subject: string
}

/**
 * Returns what to show once another preview has been computed. Live updates change the inventory under an edit all the time:
 * until its next exact preview is ready, the previous one of the same edit stays, so that nothing flickers.
 */
export function nextShown(shown: ShownPreview | undefined, next: ShownPreview): ShownPreview {
  if (shown?.subject !== next.subject) return next
  const isLessExact = next.view.assumesSpace && !shown.view.assumesSpace
  return isLessExact || shown.view === next.view ? shown : next
}
