import { formatBytes } from '@svc/domain/text'
import { formatShare, visible } from '../formats/index.ts'
import { Bytes } from './bytes.tsx'
import { Name } from './notice.tsx'

/** A square in the color of a tier. */
export function TierMark({ color }: { readonly color: number | undefined }) {
  return <span className={`mark tier-${color ?? 'none'}`} aria-hidden="true" />
}

/** The name of a tier, after its color. */
export const TierName = ({
  tier,
  colors,
}: {
  readonly tier: string
  readonly colors: ReadonlyMap<string, number>
}) => (
  <span className="tier-name">
    <TierMark color={colors.get(tier)} />
    <Name>{tier}</Name>
  </span>
)

/** How full something is, in the color of its tier. Its numbers are next to it. */
export function Meter({
  label,
  value,
  max,
  color,
}: {
  readonly label: string
  readonly value: number
  readonly max: number
  readonly color: number | undefined
}) {
  const share = max <= 0 ? 0 : Math.min(1, value / max)
  return (
    <span
      className={`meter tier-${color ?? 'none'}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <span style={{ width: `${share * 100}%` }} />
    </span>
  )
}

/** How full a tier is: as a meter, and in numbers. */
export function TierFill({
  tier,
  usedBytes,
  maxBytes,
  misfitBytes = 0,
  colors,
}: {
  readonly tier: string
  readonly usedBytes: number
  /** Null or infinite if it is unlimited. */
  readonly maxBytes: number | null
  /** What has no space. */
  readonly misfitBytes?: number
  readonly colors: ReadonlyMap<string, number>
}) {
  if (maxBytes === null || !Number.isFinite(maxBytes)) return `${formatBytes(usedBytes)}, unlimited`
  return (
    <span className="fill">
      <Meter
        label={`Space used in ${visible(tier)}`}
        value={usedBytes}
        max={maxBytes}
        color={colors.get(tier)}
      />
      <span className="numbers">
        {formatShare(usedBytes, maxBytes)} of <Bytes of={maxBytes} />
        {misfitBytes > 0 && `, ${formatBytes(misfitBytes)} will not fit`}
      </span>
    </span>
  )
}
