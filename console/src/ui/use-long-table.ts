import { useVirtualizer } from '@tanstack/react-virtual'
import { type RefObject, useRef } from 'react'

/** The rows of a long table that exist, because they are visible. */
interface LongTable {
  /** The element in which the table scrolls. */
  readonly box: RefObject<HTMLDivElement | null>
  readonly indexes: readonly number[]
  /** Height of the rows before and after them, in pixels. */
  readonly before: number
  readonly after: number
}

/** Returns which rows of a table to render. All rows have the same height. */
export function useLongTable(count: number, rowHeight: number): LongTable {
  const box = useRef<HTMLDivElement>(null)
  const rows = useVirtualizer({
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 10,
  })
  const shown = rows.getVirtualItems()
  return {
    box,
    indexes: shown.map(({ index }) => index),
    before: shown[0]?.start ?? 0,
    after: rows.getTotalSize() - (shown.at(-1)?.end ?? 0),
  }
}
