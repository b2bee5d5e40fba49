/** Returns bytes as characters, which is what base64 and headers are made of. */
export const byteCharacters = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
