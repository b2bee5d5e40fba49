import type { ScaleTime } from 'd3-scale'

/** Space that a label needs, in pixels. */
const minTickGap = 76
// The label at the start of the axis is right of its tick, and the one at the end is left of it.
const minEndGap = 108
const startWidth = 24
const endWidth = 40
const minuteMs = 60_000

/** A tick of a time axis. */
export interface AxisTick {
  readonly time: Date
  readonly x: number
  readonly isAtStart: boolean
  readonly isAtEnd: boolean
}

/** Returns as many regular ticks as have room for their labels, on full minutes. */
export function axisTicks(scale: ScaleTime<number, number>, width: number): AxisTick[] {
  for (let count = Math.floor(width / minTickGap); count > 2; count -= 1) {
    const ticks = ticksOf(scale, count, width)
    if (ticks.every(({ x }, index) => index === 0 || x - ticks[index - 1]!.x >= minTickGap)) return ticks
  }
  return ticksOf(scale, 2, width)
}

function ticksOf(scale: ScaleTime<number, number>, count: number, width: number): AxisTick[] {
  const ticks = scale
    .ticks(count)
    .filter((time) => time.getTime() % minuteMs === 0)
    .map((time) => ({
      time,
      x: scale(time),
      isAtStart: scale(time) < startWidth,
      isAtEnd: scale(time) > width - endWidth,
    }))
  const areTight = (a: AxisTick | undefined, b: AxisTick | undefined): boolean =>
    a !== undefined && b !== undefined && b.x - a.x < minEndGap
  const kept = ticks[0]?.isAtStart && areTight(ticks[0], ticks[1]) ? ticks.slice(1) : ticks
  return kept.at(-1)?.isAtEnd && areTight(kept.at(-2), kept.at(-1)) ? kept.slice(0, -1) : kept
}
