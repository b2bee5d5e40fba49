import type { ScaleTime } from 'd3-scale'

/** Space that a label needs, in pixels. */
const minTickGap = 76
// The label at the end of the axis is left of its tick.
const minEndGap = 108
const endWidth = 40
const minuteMs = 60_000

/** A tick of a time axis. */
export interface AxisTick {
  readonly time: Date
  readonly x: number
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
    .map((time) => ({ time, x: scale(time), isAtEnd: scale(time) > width - endWidth }))
  const [before, last] = ticks.slice(-2)
  const isTight = before !== undefined && last?.isAtEnd === true && last.x - before.x < minEndGap
  return isTight ? ticks.slice(0, -1) : ticks
}
