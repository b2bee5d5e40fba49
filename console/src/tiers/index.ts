/** The screen of tiers and servers. */
export { TiersScreen } from './tiers-screen.tsx'
