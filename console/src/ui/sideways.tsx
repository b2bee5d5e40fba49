import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { useWidth } from './use-width.ts'

/** A wide table that scrolls by itself, with a hint if it is wider than its place. */
export function Sideways({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const width = useWidth(box)
  const [isCut, setIsCut] = useState(false)
  useLayoutEffect(() => setIsCut(width > 0 && box.current!.scrollWidth > box.current!.clientWidth))
  return (
    <>
      {isCut && <p className="hint">Scroll the table sideways to see all columns.</p>}
      <div ref={box} className="sideways" tabIndex={0} role="group" aria-label={label}>
        {children}
      </div>
    </>
  )
}
