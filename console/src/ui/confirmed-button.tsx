import { useState } from 'react'

/** A button that says what it does and asks before it does it. */
export function ConfirmedButton({
  label,
  question,
  confirm,
  isBusy,
  onConfirm,
}: {
  readonly label: string
  readonly question: string
  readonly confirm: string
  readonly isBusy: boolean
  onConfirm(): void
}) {
  const [isAsking, setIsAsking] = useState(false)
  if (!isAsking)
    return (
      <div className="row">
        <button type="button" onClick={() => setIsAsking(true)}>
          {label}
        </button>
      </div>
    )
  return (
    <div className="row">
      <span>{question}</span>
      <button type="button" className="danger" disabled={isBusy} onClick={onConfirm}>
        {confirm}
      </button>
      <button type="button" onClick={() => setIsAsking(false)}>
        Cancel
      </button>
    </div>
  )
}
