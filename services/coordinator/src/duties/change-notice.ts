/** Decides when to log a condition that may last for many runs: when it begins or changes, not at every run. */
export class ChangeNotice {
  private last: readonly string[] = []

  /** Records the affected names. Returns whether there are any, and whether they differ from those of the last call. */
  changes(names: readonly string[]): boolean {
    const { last } = this
    this.last = names
    return names.length > 0 && (names.length !== last.length || names.some((name, at) => name !== last[at]))
  }

  /** Records the affected names. Returns those that the last call did not have. */
  added(names: readonly string[]): string[] {
    const last = new Set(this.last)
    this.last = names
    return names.filter((name) => !last.has(name))
  }
}
