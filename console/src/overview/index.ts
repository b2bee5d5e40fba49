/** The first screen: what the cluster is doing. */
export { OverviewScreen } from './overview-screen.tsx'
export { TierFills } from './tier-fills.tsx'
