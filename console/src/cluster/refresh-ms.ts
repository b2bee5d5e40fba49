/** How often a visible page refetches what changes all the time, such as metrics: events do not report it. */
export const refreshMs = 4000
