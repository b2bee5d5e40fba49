import { countOf, formatBytes } from '@svc/domain/text'

/** A number of bytes in a unit that people read. The exact number is shown on hover. */
export const Bytes = ({ of }: { readonly of: number }) => (
  <span title={countOf(of, 'byte')}>{formatBytes(of)}</span>
)

/** A cell of a table with a number of bytes. */
export const BytesCell = ({ of }: { readonly of: number }) => (
  <td className="right numbers">
    <Bytes of={of} />
  </td>
)
