/** What an option that may be given again stands for: all its values, in the order in which they were given. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
