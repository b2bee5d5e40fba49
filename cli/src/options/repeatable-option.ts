/** The values of a repeatable option, in the order in which they were given. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
