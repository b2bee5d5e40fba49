/** Duty runs and tasks: what ran, how long it took, and what failed. */
export { RunsScreen } from './runs-screen.tsx'
