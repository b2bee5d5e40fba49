import { useEffect, useRef, useState } from 'react'

/** A button that says what it does and asks before it does it. The focus follows the question. */
export function ConfirmedButton({
  label,
  question,
  confirm,
  isBusy,
  isDisabled = false,
  onConfirm,
}: {
  readonly label: string
  readonly question: string
  readonly confirm: string
  readonly isBusy: boolean
  readonly isDisabled?: boolean
  onConfirm(): void
}) {
  const [step, setStep] = useState<'unasked' | 'asking' | 'canceled'>('unasked')
  const subject = useRef<HTMLButtonElement & HTMLSpanElement>(null)
  useEffect(() => {
    if (step !== 'unasked') subject.current?.focus()
  }, [step])
  if (step !== 'asking')
    return (
      <div className="row">
        <button ref={subject} type="button" disabled={isDisabled} onClick={() => setStep('asking')}>
          {label}
        </button>
      </div>
    )
  return (
    <div className="row">
      <span ref={subject} tabIndex={-1}>
        {question}
      </span>
      <button type="button" className="danger" disabled={isBusy} onClick={onConfirm}>
        {confirm}
      </button>
      <button type="button" onClick={() => setStep('canceled')}>
        Cancel
      </button>
    </div>
  )
}
