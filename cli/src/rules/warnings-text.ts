/** The warnings in the coordinator's header, and how many more there are. */
export function warningsOfHeader(header: string | undefined): string[] {
  if (header === undefined) return []
  const { count, isAtLeast, warnings } = JSON.parse(header) as {
    count: number
    isAtLeast?: true
    warnings: { message: string }[]
  }
  const omitted = count - warnings.length
  const atLeast = isAtLeast ? 'at least ' : ''
  return [
    ...warnings.map(({ message }) => message),
    ...(omitted > 0 ? [`and ${atLeast}${omitted} more`] : []),
  ]
}
