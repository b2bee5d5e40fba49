import type { DataServer } from '../cluster/index.ts'

/** Returns how full a server is: 1 if its space is used up. */
export const fillOf = ({ currSize, maxSize }: DataServer): number => (maxSize <= 0 ? 0 : currSize / maxSize)
