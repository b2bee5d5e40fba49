import { type AuthenticatorStep, directoryStepText } from '@svc/domain/access'
import { visible } from '../ui/index.ts'

/** What was requested from directories, in order, with the results. */
export function DirectorySteps({
  title,
  steps,
}: {
  readonly title?: string
  readonly steps: readonly AuthenticatorStep[]
}) {
  if (steps.length === 0) return null
  return (
    <>
      {title !== undefined && <div className="dim">{title}</div>}
      <ol className="sentences" aria-label={title ?? 'Requests to the directory'}>
        {steps.map((step, index) => (
          <li key={index} className={step.error === undefined ? '' : 'future-text'}>
            <bdi>{visible(directoryStepText(step))}</bdi>
          </li>
        ))}
      </ol>
    </>
  )
}
