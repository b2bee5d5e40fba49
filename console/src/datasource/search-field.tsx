import { type KeyboardEvent, useEffect, useEffectEvent, useRef } from 'react'
import { flushSync } from 'react-dom'
import { takeSearchRequest } from '../search-request.ts'

/** A field that finds datasources and more. Enter opens the first result. */
export function SearchField({
  text,
  onText,
  onOpen,
}: {
  readonly text: string
  onText(text: string): void
  onOpen(): void
}) {
  const field = useRef<HTMLInputElement>(null)
  const start = useEffectEvent(() => {
    const typed = takeSearchRequest()
    if (typed === undefined) return
    field.current?.focus()
    // React cannot render synchronously within an effect.
    queueMicrotask(() => {
      // Render first, so that Enter opens a result for the complete text.
      flushSync(() => onText(typed.text))
      if (typed.isSubmitted) onOpen()
    })
  })
  useEffect(() => start(), [])
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onOpen()
        }}
      >
        <input
          ref={field}
          type="search"
          placeholder="Find a datasource, server, task, or user ( / )"
          aria-label="Find a datasource, server, task, user, or screen"
          value={text}
          onChange={(event) => onText(event.target.value)}
        />
      </form>
    </search>
  )
}

const results = '.list tbody a, .elsewhere a'
const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }

/** Moves the focus from the field to the results and between them, if an arrow key is pressed in one of them. */
export function walkResults(event: KeyboardEvent<HTMLElement>): void {
  const step = steps[event.key]
  const places = [...event.currentTarget.querySelectorAll<HTMLElement>(`input[type=search], ${results}`)]
  const place = places.indexOf(event.target as HTMLElement)
  if (step === undefined || place < 0) return
  event.preventDefault()
  places[Math.max(0, place + step)]?.focus()
}

/** Opens the first result. */
export const openFirst = (page: HTMLElement | null): void =>
  page?.querySelector<HTMLElement>(results)?.click()
