import type { X509Certificate } from 'node:crypto'
import { cutText } from '@svc/domain/validation'

/** A certificate, as text. Times are ISO 8601. */
export interface DescribedCertificate {
  /** Who it is for, such as `CN=broker`. */
  readonly subject: string
  /** The authority that signed it. */
  readonly issuer: string
  readonly serialNumber: string
  /** The names and addresses that it is valid for, such as `DNS:broker`. */
  readonly names: string
  readonly validFrom: string
  readonly validTo: string
  readonly fingerprint: string
}

// A certificate may contain megabytes of names.
const maxTextLength = 1000

/** Returns a certificate as text; very long parts are cut. */
export function describeCertificate(certificate: X509Certificate): DescribedCertificate {
  const text = (value: string | undefined): string => cutText(value ?? '', maxTextLength)
  const onOneLine = (value: string | undefined): string => text(value?.replaceAll('\n', ', '))
  return {
    subject: onOneLine(certificate.subject),
    issuer: onOneLine(certificate.issuer),
    serialNumber: text(certificate.serialNumber),
    names: text(certificate.subjectAltName),
    validFrom: new Date(certificate.validFrom).toISOString(),
    validTo: new Date(certificate.validTo).toISOString(),
    fingerprint: certificate.fingerprint256,
  }
}
