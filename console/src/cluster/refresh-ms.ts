/** How often a page polls for changes while it is visible. */
export const refreshMs = 4000
