import { formatMinute } from '../formats/index.ts'
import { Name } from './notice.tsx'

/** Who changed something, when, and why. */
export interface AuditedText {
  readonly auditInfo: { readonly author: string; readonly identity: string; readonly comment: string }
  readonly auditTime: string
}

/** A sentence that says who changed something, when, and why. */
export function ChangeBy({ change: { auditInfo, auditTime } }: { readonly change: AuditedText }) {
  return (
    <>
      Changed by <Name>{auditInfo.author || auditInfo.identity}</Name> on{' '}
      {formatMinute(Date.parse(auditTime))}
      {auditInfo.comment && (
        <>
          : “<Name>{auditInfo.comment}</Name>”
        </>
      )}
      .
    </>
  )
}
