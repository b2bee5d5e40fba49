/** How often a visible page refetches what events do not report. */
export const refreshMs = 4000
