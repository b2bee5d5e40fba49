/** A stretch of the slider: its last day, and the number of days between two stops. */
const stretches = [
  { lastDay: 91, days: 1 },
  { lastDay: 728, days: 7 },
  { lastDay: 3638, days: 30 },
] as const

/** The days at which the slider can stop: each day, later each week, and finally each month. */
const stops: readonly number[] = stretches.reduce<number[]>(
  (list, { lastDay, days }) => {
    for (let day = list.at(-1)! + days; day <= lastDay; day += days) list.push(day)
    return list
  },
  [0],
)

/** How many days ahead a page can look: about ten years. */
export const maxDaysAhead = stops.at(-1)!

/** The last position of the slider. The first is 0. */
export const lastStop = stops.length - 1

/** Returns the number of days ahead at a position of the slider. */
export const daysAt = (position: number): number => stops[Math.min(lastStop, Math.max(0, position))]!

/** Returns the position of the slider that is closest to a number of days. */
export function stopAt(days: number): number {
  const next = stops.findIndex((stop) => stop >= days)
  if (next === -1) return lastStop
  return next > 0 && days - stops[next - 1]! < stops[next]! - days ? next - 1 : next
}
