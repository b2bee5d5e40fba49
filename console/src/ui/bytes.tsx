import { formatBytes, formatCount } from '@svc/domain/text'

/** A number of bytes in a unit that people read. The exact number is shown on hover. */
export const Bytes = ({ of }: { readonly of: number }) => (
  <span title={`${formatCount(of)} bytes`}>{formatBytes(of)}</span>
)
