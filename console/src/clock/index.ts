/** The time that the page shows: now, or a preview of the future, which is the same on all screens. */
export { ClockBar, ClockOfCluster, PresentNotice } from './clock-bar.tsx'
export { setClockOffset, useClockOffset } from './clock-offset.ts'
export { FutureDatasources, FutureSummary, FutureTiers } from './future-figures.tsx'
export { useFuture } from './use-future.ts'
