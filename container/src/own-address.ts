/** The address that the server of this container listens on, written at its start. */
export interface OwnAddress {
  /** The name by which others reach it, and for which its certificate must be valid. */
  readonly host: string
  readonly port: number
  readonly isTls: boolean
  readonly trustStore: string | undefined
}

export const ownAddressFile = '/tmp/own-address.json'
