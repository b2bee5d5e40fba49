/** Whether a server can do its work, and if not, why; shown at /status/ready and by `./svc status`. */
export interface Readiness {
  /** The server has started and serves; it does not become unready again until it stops. */
  markReady(): void
  isReady(): boolean
  /** Names a trouble under a key, or ends it with undefined. The text is shown to anyone: no secrets. */
  setTrouble(key: string, text: string | undefined): void
  /** The troubles of now, joined; empty if there are none. */
  troubles(): string
  /** Whether other servers can call this one, as far as it can tell: whoever cannot be called neither leads nor serves. */
  isReachable(): boolean
  setReachable(reachable: boolean): void
}

export function createReadiness(): Readiness {
  let ready = false
  let reachable = true
  const troubles = new Map<string, string>()
  return {
    markReady: () => {
      ready = true
    },
    isReady: () => ready,
    setTrouble: (key, text) => {
      if (text === undefined) troubles.delete(key)
      else troubles.set(key, text)
    },
    troubles: () => [...new Set(troubles.values())].join('; '),
    isReachable: () => reachable,
    setReachable: (now) => {
      reachable = now
    },
  }
}
