/** Whether a server can do its work, and if not, why. Shown at `/status/ready` and by `./svc status`. */
export interface Readiness {
  /** Marks the server as started; it stays ready until it stops. */
  markReady(): void
  isReady(): boolean
  /**
   * Sets the problem with this key, or removes it if undefined. Anyone can see the text, so it must not contain
   * secrets.
   */
  setProblem(key: string, text: string | undefined): void
  /** Calls back whenever a problem is added, changed, or removed, until the returned function is called. */
  onProblemsChange(callback: () => void): () => void
  /** Returns the current problems as one text; empty if there are none. */
  problems(): string
  /** Returns whether other servers can probably call this one. An unreachable server neither leads nor serves. */
  isReachable(): boolean
  setReachable(reachable: boolean): void
}

export function createReadiness(): Readiness {
  let ready = false
  let reachable = true
  const problems = new Map<string, string>()
  const callbacks = new Set<() => void>()
  return {
    markReady: () => {
      ready = true
    },
    isReady: () => ready,
    setProblem: (key, text) => {
      if (problems.get(key) === text) return
      if (text === undefined) problems.delete(key)
      else problems.set(key, text)
      for (const callback of callbacks) callback()
    },
    onProblemsChange: (callback) => {
      callbacks.add(callback)
      return () => callbacks.delete(callback)
    },
    problems: () => [...new Set(problems.values())].join('; '),
    isReachable: () => reachable,
    setReachable: (now) => {
      reachable = now
    },
  }
}
