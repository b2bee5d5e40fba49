import { ChangedByOther, Name } from '../ui/index.ts'

interface OtherChangeInput {
  readonly what: 'these permissions' | 'these roles' | 'this group mapping'
  /** What was stored when the edit began, and what is stored now. */
  readonly before: readonly string[]
  readonly after: readonly string[]
  readonly keep?: string | undefined
  onKeep(): void
  onDiscard(): void
}

/** What another person added and removed while this edit was open. */
export function OtherChange({ what, before, after, keep, onKeep, onDiscard }: OtherChangeInput) {
  const added = after.filter((text) => !before.includes(text))
  const removed = before.filter((text) => !after.includes(text))
  return (
    <ChangedByOther what={what} keep={keep} onKeep={onKeep} onDiscard={onDiscard}>
      <ul className="small differences">
        {added.map((text) => (
          <li key={`+ ${text}`}>
            <Name>{`+ ${text}`}</Name>
          </li>
        ))}
        {removed.map((text) => (
          <li key={`− ${text}`}>
            <Name>{`− ${text}`}</Name>
          </li>
        ))}
      </ul>
    </ChangedByOther>
  )
}
