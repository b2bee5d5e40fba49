/** A URL without its credentials, for messages. */
export const withoutLogin = (address: string): string =>
  address.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*:.*@/i, '$1…@')
