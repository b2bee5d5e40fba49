/** An address as it may be told: whoever is named before an @ may stand there with their password. */
export const withoutLogin = (address: string): string =>
  address.replace(/^([a-z][a-z\d+.-]*:\/\/)?.*:.*@/i, '$1…@')
