import type { X509Certificate } from 'node:crypto'
import type { DescribedCertificate } from '@svc/domain/access'
import { cutText } from '@svc/domain/validation'

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
