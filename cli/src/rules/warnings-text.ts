/** The warnings in the coordinator's header, and how many more there are. */
export function warningsOfHeader(header: string | undefined): string[] {
  if (header === undefined) return []
  const { count, warnings } = JSON.parse(header) as {
    count: number
    warnings: { message: string }[]
  }
  const omitted = count - warnings.length
  return [...warnings.map(({ message }) => message), ...(omitted > 0 ? [`and ${omitted} more`] : [])]
}
