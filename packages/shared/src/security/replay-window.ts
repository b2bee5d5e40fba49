interface Session {
  highest: number
  readonly used: Uint8Array
  lastUsedAt: number
}

// Max distance of a number from the highest one so far, because requests on different connections overtake each other.
const windowSize = 16_384

/** Returns a test for whether a number of a session is new. It forgets sessions that were idle for `forgetMs`. */
export function createReplayWindow(
  now: () => number,
  forgetMs: number,
): (session: string, sequence: number) => boolean {
  const sessions = new Map<string, Session>()

  function sessionOf(id: string): Session {
    let session = sessions.get(id)
    if (!session) {
      for (const [other, { lastUsedAt }] of sessions)
        if (now() - lastUsedAt > forgetMs) sessions.delete(other)
      session = { highest: 0, used: new Uint8Array(windowSize), lastUsedAt: now() }
      sessions.set(id, session)
    }
    return session
  }

  return (id, sequence) => {
    const session = sessionOf(id)
    const { highest, used } = session
    if (sequence <= highest - windowSize) return false
    // Clear the slots between the old and the new highest number.
    if (sequence >= highest + windowSize) used.fill(0)
    else for (let next = highest + 1; next <= sequence; next++) used[next % windowSize] = 0
    if (used[sequence % windowSize] === 1) return false
    used[sequence % windowSize] = 1
    session.highest = Math.max(highest, sequence)
    session.lastUsedAt = now()
    return true
  }
}
