import { formatBytes } from '@svc/domain/text'
import { parseInstant } from '@svc/domain/time'
import type { ScaleTime } from 'd3-scale'
import { memo } from 'react'
import { sumOf } from '../sum-of.ts'
import type { PreviewView } from '../web-worker/index.ts'

interface BarLaneInput {
  readonly view: PreviewView
  readonly colors: ReadonlyMap<string, number>
  readonly scale: ScaleTime<number, number>
  readonly height: number
  readonly isEdited: boolean
  /** ID of the clip path that cuts off the first and the last bar at the ends of the axis. */
  readonly clipId: string
}

/** Bytes of replicas by tier over time: what the rules require as bars, and what is served as a line. */
export const BarLane = memo(function BarLane({
  view,
  colors,
  scale,
  height,
  isEdited,
  clipId,
}: BarLaneInput) {
  const { buckets, replicas } = view
  if (!buckets) return null
  const start = parseInstant(buckets.start)
  const xOf = (bucket: number) => scale(start + bucket * buckets.widthMs)
  const tiers = Object.entries(buckets.tiers).sort(([a], [b]) => (a < b ? -1 : 1))
  const indexes = Array.from({ length: buckets.count }, (_, index) => index)
  const sum = (index: number, side: 'before' | 'after') => sumOf(tiers, ([, bytes]) => bytes[side][index]!)
  // Data that is lost or was never loaded has no replicas, so its own size is drawn.
  const lostAt = (index: number) => Math.max(buckets.unqueryable[index]!, buckets.unused[index]!)
  const tops = indexes.map((index) => Math.max(sum(index, 'after') + lostAt(index), sum(index, 'before')))
  const hasData = tops.some((top) => top > 0)
  const max = Math.max(1, ...tops) * 1.06
  const yOf = (bytes: number) => (bytes / max) * (height - 8)
  const gap = xOf(1) - xOf(0) > 5 ? 1 : 0
  const served = indexes.map(
    (index) =>
      `${index === 0 ? 'M' : 'L'}${xOf(index)},${height - yOf(sum(index, 'before'))}H${xOf(index + 1)}`,
  )
  return (
    <g className="bars">
      {(hasData ? [0.5, 1] : []).map((share) => (
        <GridLine
          key={share}
          bytes={Math.round((max / 1.06) * share)}
          y={height - yOf((max / 1.06) * share)}
          scale={scale}
        />
      ))}
      <g clipPath={`url(#${clipId})`}>
        {indexes.map((index) => (
          <Bar
            key={index}
            x={xOf(index) + gap}
            width={Math.max(1, xOf(index + 1) - xOf(index) - gap)}
            bottom={height}
            parts={tiers.map(([tier, { after }]) => ({ tier, height: yOf(after[index]!) }))}
            lost={yOf(lostAt(index))}
            colors={colors}
          />
        ))}
        {(isEdited || replicas) && <path className="served" d={served.join('')} />}
      </g>
    </g>
  )
})

/** The replicas of one bucket by tier, and on top of them what is lost. */
function Bar({
  x,
  width,
  bottom,
  parts,
  lost,
  colors,
}: {
  readonly x: number
  readonly width: number
  readonly bottom: number
  readonly parts: readonly { readonly tier: string; readonly height: number }[]
  /** Height of what is lost. */
  readonly lost: number
  readonly colors: ReadonlyMap<string, number>
}) {
  let top = bottom
  const shown = parts
    .filter(({ height }) => height > 0)
    .map(({ tier, height }) => {
      top -= height
      return (
        <rect key={tier} className={`tier-${colors.get(tier)}`} x={x} y={top} width={width} height={height} />
      )
    })
  return (
    <g>
      {shown}
      {lost > 0 && (
        <rect className="loss" x={x} y={top - lost} width={width} height={lost} fill="url(#loss)" />
      )}
    </g>
  )
}

function GridLine({
  bytes,
  y,
  scale,
}: {
  readonly bytes: number
  readonly y: number
  readonly scale: ScaleTime<number, number>
}) {
  return (
    <g className="grid" transform={`translate(0,${y})`}>
      <line x2={scale.range()[1]} />
      <text x={-6} y={4} textAnchor="end">
        {formatBytes(bytes)}
      </text>
    </g>
  )
}
