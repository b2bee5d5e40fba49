/** The messages of the header by which the coordinator tells warnings, and how many more there are. */
export function warningsOfHeader(header: string | undefined): string[] {
  if (header === undefined) return []
  const { count, warnings } = JSON.parse(header) as {
    count: number
    warnings: { message: string }[]
  }
  const untold = count - warnings.length
  return [...warnings.map(({ message }) => message), ...(untold > 0 ? [`and ${untold} more`] : [])]
}
