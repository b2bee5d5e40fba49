/** Compaction: what is compacted, what waits and why, and how to configure it. */
export { CompactionScreen } from './compaction-screen.tsx'
